import { BUNDLED, type BundledKind, bundledProvider } from '#prices/bundled-lists.ts'
import type { CatalogEntries, CatalogProvider } from '../catalog/catalog-entries.ts'
import { parseCatalog } from './catalog-parse.ts'
import { LazyProviders } from './lazy-providers.ts'

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

/** @throws {Error} when the file is not what the script writes. */
function readProvider(kind: BundledKind, id: string): CatalogProvider {
  const list = bundledProvider(kind, id)
  const { entries, problems } = parseCatalog([list], BUNDLED[kind].source, BUNDLED[kind].day)
  const provider = entries?.providers.get(id)
  if (provider === undefined) throw new Error(`the bundled prices of ${kind} cannot be read: ${problems[0]}`)
  return provider
}
