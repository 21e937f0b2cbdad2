import { existsSync, readFileSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { bundledText } from '#prices/bundled-lists.ts'
import { isMissingFile } from '../lib/missing-file.ts'
import type { CatalogEntries } from '../pricing/catalog/catalog-entries.ts'
import { CATALOG_PROVIDER_IDS } from '../pricing/catalog/catalog-providers.ts'
import { bundledEntries } from '../pricing/sources/catalog-bundle.ts'
import { readCatalogFile } from '../pricing/sources/catalog-file.ts'
import { mergedText, mergeSources, type SourceData } from '../pricing/sources/catalog-sources.ts'
import type { PriceCatalogKind } from '../pricing/sources/price-catalog-source.ts'
import { ConfigError, messageOf } from './variables.ts'

/** The price data in use. */
export interface CurrentCatalog {
  /** Of all sources, merged. */
  readonly entries: CatalogEntries
  /** The same as text, which `catalogOfText` reads. Long, and rendered at each call. */
  readonly text: () => string
  /** The file of an operator that is in it; `null`: all of it came with the release. */
  readonly file: string | null
  /** The first source that is not our own data. */
  readonly first: CatalogData
  /** LiteLLM's list where a newer one is stored than that of the release; else `null`. */
  readonly litellm: CatalogData | null
}

/** One source as it was given. */
export interface CatalogData extends SourceData {
  /** `null`: it came with the release, or from Postgres. */
  readonly file: string | null
}

/** The file that `prices update` writes and gateways read. */
export function catalogFileOf(dataDir: string): string {
  return join(dataDir, 'catalog.json')
}

/**
 * The catalog given by `prices update`, else the bundled one, merged with the other sources. Prices must
 * never change silently, so an unreadable file is an error.
 * @param stored Catalogs kept for all gateways take precedence over local files.
 * @throws {ConfigError} With all problems of the files.
 */
export function readCurrentCatalog(dataDir: string, stored: KeptElsewhere = NOTHING_KEPT): CurrentCatalog {
  const first = keptData(stored['genai-prices']) ?? readGiven(catalogFileOf(dataDir))
  const litellm = keptData(stored.litellm)
  const newer = {
    'genai-prices': first,
    'models.dev': keptData(stored['models.dev']),
    litellm,
    azure: keptData(stored.azure),
  }
  return {
    entries: mergeSources(newer),
    text: () => mergedText(newer),
    file: first?.file ?? null,
    first: first ?? { entries: bundledEntries(), text: bundledText, file: null },
    litellm,
  }
}

/** Price data by kind, kept for all gateways; `null`: the local data is used. */
export type KeptElsewhere = Readonly<
  Record<PriceCatalogKind, { readonly entries: CatalogEntries; readonly text: () => string } | null>
>

export const NOTHING_KEPT: KeptElsewhere = {
  'genai-prices': null,
  'models.dev': null,
  litellm: null,
  azure: null,
}

function keptData(kept: KeptElsewhere[PriceCatalogKind]): CatalogData | null {
  return kept === null ? null : { ...kept, file: null }
}

function readGiven(file: string): CatalogData | null {
  const text = readIfThere(file)
  if (text === null) return null
  const { entries, problems } = readCatalogFile(text)
  if (entries === null) throw new ConfigError(problems.map((problem) => `${file}: ${problem}`))
  return { entries, text: () => text, file }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (isMissingFile(error)) return null
    throw new ConfigError([`${file}: cannot be read: ${messageOf(error)}`])
  }
}

const PACKAGE = '@pydantic/genai-prices'

/** The part of the package that is used, in any version. */
const packageShape = z.object({
  findProvider: z.custom<(query: { readonly providerId: string }) => unknown>(
    (value) => typeof value === 'function',
    'is not a function',
  ),
})
const manifestShape = z.object({ name: z.literal(PACKAGE) })

/**
 * The text of a catalog from a path: that of a `data.json`, or the data of an unpacked package.
 *
 * @throws {Error} when there is neither.
 */
export function readCatalogText(path: string): string {
  if (!statSync(path).isDirectory()) return readFileSync(path, 'utf8')
  const manifest = join(path, 'package.json')
  if (!existsSync(manifest) || !manifestShape.safeParse(JSON.parse(readFileSync(manifest, 'utf8'))).success) {
    throw new Error(`${path} is not the package ${PACKAGE}`)
  }
  const loaded: unknown = createRequire(import.meta.url)(resolve(path))
  const { findProvider } = packageShape.parse(loaded)
  const providers = CATALOG_PROVIDER_IDS.map((providerId) => findProvider({ providerId }))
  return JSON.stringify(providers.filter((provider) => provider !== undefined && provider !== null))
}
