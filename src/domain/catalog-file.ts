import { createHash } from 'node:crypto'
import type { CatalogEntries } from './catalog-entries.ts'
import { parseCatalog } from './catalog-parse.ts'

/**
 * Reads a catalog file that an operator gave: the text of genai-prices' `data.json`, version 2. Its source is the
 * hash of the text, so that prices from it are told apart from those of any other version.
 */
export function readCatalogFile(text: string): {
  readonly entries: CatalogEntries | null
  readonly problems: readonly string[]
} {
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return {
      entries: null,
      problems: [`catalog: is not JSON: ${error instanceof Error ? error.message : error}`],
    }
  }
  return parseCatalog(value, `genai-prices-file@${hash}`)
}
