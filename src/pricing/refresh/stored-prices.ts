import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { catalogOfText } from '../sources/catalog-file.ts'
import type { PriceCatalogKind } from '../sources/price-catalog-source.ts'

/** Price data that is kept outside of this release, as it is used. */
export interface StoredCatalog {
  readonly source: string
  /** From which anyone can read it again. */
  readonly text: string
  readonly entries: CatalogEntries
  readonly fetchedAt: Date
}

/** By kind; `null`: there is none, and what came with this release is used. */
export type StoredPrices = Readonly<Record<PriceCatalogKind, StoredCatalog | null>>

export const NO_STORED_PRICES: StoredPrices = { 'genai-prices': null, litellm: null }

export const PRICE_KINDS: readonly PriceCatalogKind[] = ['genai-prices', 'litellm']

/** A stored catalog with its text, wherever it was kept. */
export type KeptCatalog = Omit<StoredCatalog, 'entries'>

/** @throws {Error} where it is not a catalog. */
export function readStored({ source, text, fetchedAt }: KeptCatalog): StoredCatalog {
  return { source, text, entries: catalogOfText(source, text), fetchedAt }
}
