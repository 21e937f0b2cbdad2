import { createRequire } from 'node:module'
import type * as GenaiPrices from '@pydantic/genai-prices'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { CATALOG_PROVIDER_IDS } from '../catalog/catalog-providers.ts'
import { parseCatalog } from './catalog-parse.ts'

const PACKAGE = '@pydantic/genai-prices'

/** The version of the package in package.json; a test holds the two together. */
export const BUNDLED_SOURCE = 'genai-prices@0.1.8'
/** When that version was published: data that was fetched on an earlier day is older. */
export const BUNDLED_DAY = '2026-09-23'

/**
 * The price data that came with the package. Its matching of providers is not used (it takes any name that
 * contains `openai` for OpenAI), only its data.
 *
 * @throws {Error} when the package's data is not as documented: an incompatible version was installed.
 */
export function bundledEntries(): CatalogEntries {
  const { entries, problems } = parseCatalog(bundledProviders(), BUNDLED_SOURCE)
  if (entries === null) throw new Error(`the bundled price catalog cannot be read: ${problems.join('; ')}`)
  return entries
}

/** The same data as text, in the form of a catalog file. */
export function bundledText(): string {
  return JSON.stringify(bundledProviders())
}

/**
 * Loaded when it is asked for: most programs never price anything, and the others have newer prices in Postgres. The
 * package is not kept once its data is read: its source alone is a megabyte of an idle gateway.
 */
function bundledProviders(): unknown[] {
  const require = createRequire(import.meta.url)
  const file = require.resolve(PACKAGE)
  try {
    const { findProvider }: typeof GenaiPrices = require(file)
    return CATALOG_PROVIDER_IDS.map((id) => findProvider({ providerId: id }))
  } finally {
    delete require.cache[file]
  }
}
