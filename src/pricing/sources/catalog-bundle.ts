import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { CatalogEntries, CatalogProvider } from '../catalog/catalog-entries.ts'
import { parseCatalog } from './catalog-parse.ts'
import { LazyProviders } from './lazy-providers.ts'

/** A source whose data came with this release; `npm run prices:bundle` writes what is known of it. */
export interface BundledList {
  /** Names the data and its version, e.g. `genai-prices@0.2.3`. */
  readonly source: string
  /** Of the newest price in it, or of the list itself: data that was fetched on an earlier day is older. */
  readonly day: UtcDay
  readonly providers: readonly string[]
  /** Of its file; hexadecimal. */
  readonly sha256: string
}

export type BundledKind = 'genai-prices' | 'models.dev' | 'litellm' | 'azure'

type WithData = Exclude<BundledKind, 'azure'>

const IN_BUNDLE: Readonly<Record<WithData, BundledList>> = createRequire(import.meta.url)(
  './data/bundle.json',
)

/** Azure's own list comes by a refresh alone: it may be fetched by anyone, and no registry has it. */
export const BUNDLED: Readonly<Record<BundledKind, BundledList>> = {
  ...IN_BUNDLE,
  azure: { source: 'azure@none', day: '2026-01-01', providers: [], sha256: '' },
}
const NO_AZURE = '[{"id":"azure","models":[]}]'

const FILES: Readonly<Record<WithData, URL>> = {
  'genai-prices': new URL('./data/genai-prices.json', import.meta.url),
  'models.dev': new URL('./data/models-dev.json', import.meta.url),
  litellm: new URL('./data/litellm.json', import.meta.url),
}

/** What prices of the first source are called. */
export const BUNDLED_SOURCE = BUNDLED['genai-prices'].source

const bundled = new Map<BundledKind, CatalogEntries>()

/** The price data of a source as it came with this release. Its text is not kept: providers are read as they are asked for. */
export function bundledEntries(kind: BundledKind = 'genai-prices'): CatalogEntries {
  const { source, providers, day } = BUNDLED[kind]
  const entries = bundled.get(kind) ?? {
    source,
    knownSince: day,
    providers: new LazyProviders(providers, (id) => readProvider(kind, id)),
  }
  bundled.set(kind, entries)
  return entries
}

/** The same data as text, in the form of a catalog file. */
export function bundledText(kind: BundledKind = 'genai-prices'): string {
  if (kind === 'azure') return NO_AZURE
  // ASCII: see `scripts/prices/lists.ts`.
  return readFileSync(FILES[kind], 'latin1')
}

/** @throws {Error} when the file is not what the script writes. */
function readProvider(kind: BundledKind, id: string): CatalogProvider {
  const text = bundledText(kind)
  const start = text.indexOf(`\n{"id":"${id}",`)
  const end = text.indexOf('\n]}', start)
  if (start < 0 || end < 0) throw new Error(`the bundled prices of ${kind} have no ${id}`)
  const list: unknown = JSON.parse(text.slice(start, end + 3))
  const { entries, problems } = parseCatalog([list], BUNDLED[kind].source, BUNDLED[kind].day)
  const provider = entries?.providers.get(id)
  if (provider === undefined) throw new Error(`the bundled prices of ${kind} cannot be read: ${problems[0]}`)
  return provider
}
