import { createHash } from 'node:crypto'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { CatalogEntries } from '../catalog/catalog-entries.ts'
import { parseCatalog } from './catalog-parse.ts'
import { readMergedText } from './catalog-sources.ts'
import { dayInSource } from './price-catalog-source.ts'

/**
 * Reads price data from text: one source in the form of genai-prices' `data.json`, version 2, or several merged
 * (`mergedText`). The source of one is `name` and the hash of the text, so that prices from it are distinguished from
 * those of any other version.
 */
export function readCatalogFile(
  text: string,
  name = 'genai-prices-file',
  knownSince: UtcDay | null = null,
): {
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
  if (typeof value === 'object' && value !== null && 'layers' in value) return readMergedText(value)
  return parseCatalog(value, `${name}@${hash}`, knownSince)
}

/**
 * Reads price data again from the text that was kept with a rule, under the source it had then.
 *
 * @throws {Error} when it is not price data.
 */
export function catalogOfText(source: string, text: string): CatalogEntries {
  const { entries, problems } = readCatalogFile(text, undefined, dayInSource(source))
  if (entries === null) throw new Error(`the catalog ${source} cannot be read: ${problems[0]}`)
  return { ...entries, source }
}
