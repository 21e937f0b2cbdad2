import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMissingFile } from '../lib/missing-file.ts'
import type { CatalogEntries } from '../pricing/catalog/catalog-entries.ts'
import { bundledEntries, bundledText } from '../pricing/sources/catalog-bundle.ts'
import { readCatalogFile } from '../pricing/sources/catalog-file.ts'
import { mergedText, mergeSources } from '../pricing/sources/catalog-sources.ts'
import type { PriceCatalogKind } from '../pricing/sources/price-catalog-source.ts'
import { ConfigError, messageOf } from './config-error.ts'

/** The price data in use. */
export interface CurrentCatalog {
  /** Of all sources, merged. */
  readonly entries: CatalogEntries
  /** The same as text, from which anyone can read it again: `catalogOfText`. Long, and made anew each time. */
  readonly text: () => string
  /** The file of an operator that is in it; `null`: all of it came with the release. */
  readonly file: string | null
  /** The source that comes first of those that are not ours. */
  readonly first: CatalogData
  /** What `prices import` took; `null`: nothing. */
  readonly imported: CatalogData | null
}

/** One source as it was given. */
export interface CatalogData {
  readonly entries: CatalogEntries
  /** What came with the package is not held in memory for its text. */
  readonly text: () => string
  /** `null`: it came with the package. */
  readonly file: string | null
}

/** Where `prices update` puts a newer catalog, and gateways look for one. */
export function catalogFileOf(dataDir: string): string {
  return join(dataDir, 'catalog.json')
}

/**
 * The catalog that an operator gave by `prices update`, else the one of the package, merged with the other sources.
 * Prices must never change in silence, so a file that is there and cannot be read is an error.
 *
 * @param stored What is kept for all gateways comes before what is here.
 * @throws {ConfigError} with all that is wrong with the files.
 */
export function readCurrentCatalog(dataDir: string, stored: KeptElsewhere = NOTHING_KEPT): CurrentCatalog {
  const given = keptData(stored['genai-prices']) ?? readGiven(catalogFileOf(dataDir))
  const first = given ?? { entries: bundledEntries(), text: bundledText, file: null }
  const imported = keptData(stored.litellm)
  return {
    entries: mergeSources(first.entries, imported?.entries ?? null),
    text: () => mergedText(textOf(first), imported === null ? null : textOf(imported)),
    file: first.file ?? imported?.file ?? null,
    first,
    imported,
  }
}

/** Price data by kind that is kept for all gateways; `null`: what is here is used. */
export type KeptElsewhere = Readonly<
  Record<PriceCatalogKind, { readonly entries: CatalogEntries; readonly text: string } | null>
>

export const NOTHING_KEPT: KeptElsewhere = { 'genai-prices': null, litellm: null }

function keptData(kept: KeptElsewhere[PriceCatalogKind]): CatalogData | null {
  return kept === null ? null : { entries: kept.entries, text: () => kept.text, file: null }
}

function readGiven(file: string): CatalogData | null {
  const text = readIfThere(file)
  if (text === null) return null
  const { entries, problems } = readCatalogFile(text)
  if (entries === null) throw new ConfigError(problems.map((problem) => `${file}: ${problem}`))
  return { entries, text: () => text, file }
}

function textOf({ entries, text }: CatalogData): { readonly source: string; readonly text: string } {
  return { source: entries.source, text: text() }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isMissingFile(error)) return null
    throw new ConfigError([`${file}: cannot be read: ${messageOf(error)}`])
  }
}
