import { deflateSync, inflateSync } from 'node:zlib'
import type { CatalogProvider } from '../catalog/catalog-entries.ts'
import { catalogOfText } from '../sources/catalog-file.ts'
import type { SourceData } from '../sources/catalog-sources.ts'
import { LazyProviders } from '../sources/lazy-providers.ts'
import { dayInSource, type PriceCatalogKind } from '../sources/price-catalog-source.ts'

/** Price data that is kept outside of this release, with its text, wherever it is kept. */
export interface KeptCatalog {
  readonly source: string
  readonly text: string
  readonly fetchedAt: Date
}

/** The same as it is used: its text, from which anyone can read it again, is rendered at each call. */
export interface StoredCatalog extends SourceData, Omit<KeptCatalog, 'text'> {}

/** By kind; `null`: there is none, and what came with this release is used. */
export type StoredPrices = Readonly<Record<PriceCatalogKind, StoredCatalog | null>>

export const NO_STORED_PRICES: StoredPrices = {
  'genai-prices': null,
  'models.dev': null,
  litellm: null,
  azure: null,
}

export const PRICE_KINDS: readonly PriceCatalogKind[] = ['genai-prices', 'models.dev', 'litellm', 'azure']

/**
 * Reads it all once, so that what cannot be read is known now. Kept is the compressed text of each provider, which is read
 * again when it is asked for: all of it, parsed, is several megabytes of a gateway.
 *
 * @throws {Error} where it is not a catalog.
 */
export function readStored({ source, text, fetchedAt }: KeptCatalog): StoredCatalog {
  const ids = [...catalogOfText(source, text).providers.keys()]
  const lists: readonly unknown[] = JSON.parse(text)
  const packed = lists.map((list) => deflateSync(JSON.stringify(list)))
  const unpack = (index: number) => (packed[index] === undefined ? '' : inflateSync(packed[index]).toString())
  const readProvider = (id: string): CatalogProvider => {
    const provider = catalogOfText(source, `[${unpack(ids.indexOf(id))}]`).providers.get(id)
    if (provider === undefined) throw new Error(`the catalog ${source} has no ${id}`)
    return provider
  }
  return {
    source,
    fetchedAt,
    entries: { source, providers: new LazyProviders(ids, readProvider), ...knownSinceOf(source) },
    text: () => `[${packed.map((_, index) => unpack(index)).join()}]`,
  }
}

/** Lists that were put by a release before do not say it themselves. */
function knownSinceOf(source: string) {
  const day = dayInSource(source)
  return day === null ? {} : { knownSince: day }
}
