import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { modelsDevData, type SourceFiles } from './groups.ts'

const run = promisify(execFile)

/** What is compared, so that a result can be repeated: to the byte. */
export const PINNED = {
  modelsDev: {
    package: '@earendil-works/pi-ai',
    version: '1.5.2',
    file: 'earendil-works-pi-ai-1.5.2.tgz',
    sha256: 'd5715efa834c23bfdf10a042b49df4ee169cc99000bf16d7998fab2d533b45f8',
  },
  litellm: {
    package: 'litellm',
    version: '1.109.1',
    file: 'litellm-1.109.1-cp310-abi3-manylinux_2_28_x86_64.whl',
    sha256: '1c8b4dd671fa0cd0850aa751678704ff77e595fb1e6085b2dc3be39ee19bdaaf',
  },
} as const

const LITELLM_FILE = 'litellm/model_prices_and_context_window_backup.json'

/** Gets the sources that were not given from their registries, into a folder of their own. */
export async function getSources(given: Partial<SourceFiles>): Promise<SourceFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-price-sources-'))
  return {
    modelsDev: given.modelsDev ?? (await getModelsDev(folder)),
    litellm: given.litellm ?? (await getLiteLlm(folder)),
  }
}

/** models.dev's catalog as it is packaged on npm. */
async function getModelsDev(folder: string): Promise<string> {
  const { package: name, version, file, sha256 } = PINNED.modelsDev
  await run('npm', ['pack', '--silent', `${name}@${version}`], { cwd: folder })
  await verify(join(folder, file), sha256)
  await run('tar', ['xzf', file], { cwd: folder })
  return modelsDevData(join(folder, 'package'))
}

/** LiteLLM's price list, out of its wheel. */
async function getLiteLlm(folder: string): Promise<string> {
  const { package: name, version, file, sha256 } = PINNED.litellm
  const only = ['--only-binary=:all:', '--platform', 'manylinux_2_28_x86_64', '--python-version', '3.12']
  await run('pip', ['download', '--quiet', '--no-deps', ...only, `${name}==${version}`], { cwd: folder })
  await verify(join(folder, file), sha256)
  await run('python3', ['-m', 'zipfile', '-e', file, '.'], { cwd: folder })
  return join(folder, LITELLM_FILE)
}

async function verify(file: string, sha256: string): Promise<void> {
  const found = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
  if (found !== sha256) throw new Error(`${file} is not what was pinned: ${found}`)
}
