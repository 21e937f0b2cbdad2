import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { hashOfProviders, listProvider, renderList, TAKEN_PROVIDERS } from './models-dev.ts'

/**
 * `npm run prices:bundle`: writes the list of models.dev that is bundled, from the npm package that carries it. The
 * package itself has far more than prices, so it is fetched here and is not a dependency. For a newer list: raise the
 * version and its integrity (`npm view @earendil-works/pi-ai dist.integrity`), run this, and review the difference.
 */
const PACKAGE = '@earendil-works/pi-ai'
const VERSION = '1.5.2'
const INTEGRITY =
  'sha512-2tWPSnV3qzfiDIY3aWluBag3vC++Vs+VsXt/UquSU5onPMohPih72FUhIhaqmDdMYubOgB3Byl9uF4Vk40JLvQ=='
const FILE = new URL('../src/pricing/sources/data/models-dev.json', import.meta.url)

const packed = z.tuple([z.object({ filename: z.string(), integrity: z.string() })])
const manifest = z.object({ generatedAt: z.iso.datetime() })

const folder = mkdtempSync(join(tmpdir(), 'tallygate-prices-'))
try {
  const output = execFileSync('npm', [
    'pack',
    `${PACKAGE}@${VERSION}`,
    '--json',
    '--pack-destination',
    folder,
  ])
  const [{ filename, integrity }] = packed.parse(JSON.parse(output.toString()))
  if (integrity !== INTEGRITY) throw new Error(`${PACKAGE} ${VERSION} is ${integrity}, not ${INTEGRITY}`)
  execFileSync('tar', ['xzf', join(folder, filename), '-C', folder])
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(join(folder, 'package/dist/providers/data', name), 'utf8'))
  const day = manifest.parse(read('.manifest.json')).generatedAt.slice(0, 10)
  const providers = Object.entries(TAKEN_PROVIDERS).map(([theirs, id]) =>
    listProvider(id, read(`${theirs}.json`)),
  )
  const header = {
    source: `models.dev@${day}`,
    package: `${PACKAGE}@${VERSION}`,
    integrity,
    license: 'MIT',
    generated: day,
    sha256: hashOfProviders(providers),
  }
  writeFileSync(FILE, renderList(header, providers))
  const models = providers.reduce((sum, provider) => sum + provider.models.length, 0)
  console.log(`${header.source}: ${models} models of ${providers.length} providers`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
