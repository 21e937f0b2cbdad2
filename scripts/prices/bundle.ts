import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { type CatalogDocument, catalogDocumentOf } from '#prices/catalog-document.ts'
import { readLiteLlmCatalog } from '#prices/litellm/litellm-catalog.ts'
import { CATALOG_PROVIDER_IDS, OTHER_PROVIDER_IDS } from '../../src/pricing/catalog/catalog-providers.ts'
import { dataDayOf } from '../../src/pricing/history/catalog-refresh.ts'
import { type Archive, getNpmPackage, getWheel, run } from './archives.ts'
import { type ListHeader, renderList, sha256Of } from './lists.ts'
import { listProvider, TAKEN_PROVIDERS } from './models-dev.ts'

/**
 * `npm run prices:bundle`: the newest price data that each source has published in a registry, as a release bundles it.
 * None of the packages is a dependency: their data is read, and they are not run.
 */
const DATA = new URL('../../packages/prices/data/', import.meta.url)
const TAKEN = new Set([...CATALOG_PROVIDER_IDS, ...OTHER_PROVIDER_IDS])
const LITELLM_LIST = 'litellm/model_prices_and_context_window_backup.json'
const today = new Date().toISOString().slice(0, 10)
const manifest = z.object({ generatedAt: z.iso.datetime() })

interface BundledList {
  readonly header: ListHeader
  readonly text: string
}

function bundle(archive: Archive, source: string, day: string, listed: CatalogDocument): BundledList {
  const document = listed.filter(({ id }) => TAKEN.has(id))
  const text = renderList(document)
  const header = {
    source,
    day,
    package: `${archive.name}@${archive.version}`,
    archive_sha256: archive.sha256,
    license: 'MIT',
    providers: document.map(({ id }) => id),
    sha256: sha256Of(text),
  }
  return { header, text }
}

/** The wheel is newer than what npm has, and its data is Python. */
function genaiPrices(folder: string): BundledList {
  const archive = getWheel(folder, 'genai-prices')
  const printer = new URL('wheel-data.py', import.meta.url).pathname
  const document = catalogDocumentOf(JSON.parse(run('python3', [printer, archive.folder])))
  const day = dataDayOf(document, today)
  if (day === null) throw new Error('genai-prices names no day')
  return bundle(archive, `genai-prices@${archive.version}`, day, document)
}

function modelsDev(folder: string): BundledList {
  const archive = getNpmPackage(folder, '@earendil-works/pi-ai')
  const read = (name: string): unknown =>
    JSON.parse(readFileSync(join(archive.folder, 'dist/providers/data', name), 'utf8'))
  const day = manifest.parse(read('.manifest.json')).generatedAt.slice(0, 10)
  const providers = Object.entries(TAKEN_PROVIDERS).map(([theirs, id]) =>
    listProvider(id, read(`${theirs}.json`)),
  )
  return bundle(archive, `models.dev@${day}`, day, catalogDocumentOf(providers))
}

/** The list names no day: the newest version there is today. */
function liteLlm(folder: string): BundledList {
  const archive = getWheel(folder, 'litellm')
  const { catalog, problems } = readLiteLlmCatalog(readFileSync(join(archive.folder, LITELLM_LIST), 'utf8'))
  if (catalog === null) throw new Error(`LiteLLM's list cannot be read: ${problems.join('; ')}`)
  const document = catalogDocumentOf(JSON.parse(catalog.text))
  return bundle(archive, `litellm@${archive.version}`, today, document)
}

const folder = mkdtempSync(join(tmpdir(), 'tallygate-prices-'))
try {
  const lists = {
    'genai-prices': genaiPrices(folder),
    'models.dev': modelsDev(folder),
    litellm: liteLlm(folder),
  }
  const headers = Object.entries(lists).map(([kind, { header }]) => [kind, header] as const)
  writeFileSync(new URL('bundle.json', DATA), `${JSON.stringify(Object.fromEntries(headers), null, 2)}\n`)
  for (const [kind, { text }] of Object.entries(lists)) {
    writeFileSync(new URL(`${kind.replace('.', '-')}.json`, DATA), text)
  }
  for (const [, { source, day, package: from, providers }] of headers) {
    console.log(`${source} of ${day}, from ${from}: ${providers.length} providers`)
  }
} finally {
  rmSync(folder, { recursive: true, force: true })
}
