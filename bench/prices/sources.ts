import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
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
    version: '1.110.2',
    file: 'litellm-1.110.2-cp310-abi3-manylinux_2_28_x86_64.whl',
    sha256: '9d94d1c7d524b6fd10c14f9c8c6c4f0ac31705f9964ac59dcfd8337c046d8917',
  },
  genaiPrices: {
    package: 'genai-prices',
    version: '0.2.3',
    file: 'genai_prices-0.2.3-py3-none-any.whl',
    sha256: '56976ce2b04ec206117f7d0e53f4849211a6724ab3a12119afec304eba63ee25',
  },
} as const

const LITELLM_FILE = 'litellm/model_prices_and_context_window_backup.json'

/** Gets the sources that were not given from their registries, into a folder of their own. */
export async function getSources(given: Partial<SourceFiles>): Promise<SourceFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-price-sources-'))
  return {
    modelsDev: given.modelsDev ?? (await getModelsDev(folder)),
    litellm: given.litellm ?? (await getLiteLlm(folder)),
    genaiPrices: given.genaiPrices ?? (await getGenaiPrices(folder)),
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

/** genai-prices' data as its wheel has it, in the form of its `data.json`. */
async function getGenaiPrices(folder: string): Promise<string> {
  const { package: name, version, file, sha256 } = PINNED.genaiPrices
  await run('pip', ['download', '--quiet', '--no-deps', `${name}==${version}`], { cwd: folder })
  await verify(join(folder, file), sha256)
  await run('python3', ['-m', 'zipfile', '-e', file, 'genai-prices'], { cwd: folder })
  const printer = new URL('../../scripts/prices/wheel-data.py', import.meta.url).pathname
  const { stdout } = await run('python3', [printer, 'genai-prices'], {
    cwd: folder,
    maxBuffer: 64 * 1024 * 1024,
  })
  await writeFile(join(folder, 'genai-prices.json'), stdout)
  return join(folder, 'genai-prices.json')
}

async function verify(file: string, sha256: string): Promise<void> {
  const found = createHash('sha256')
    .update(await readFile(file))
    .digest('hex')
  if (found !== sha256) throw new Error(`${file} is not what was pinned: ${found}`)
}
