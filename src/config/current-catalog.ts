import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundledEntries, bundledText } from '../domain/catalog-bundle.ts'
import type { CatalogEntries } from '../domain/catalog-entries.ts'
import { readCatalogFile } from '../domain/catalog-file.ts'
import { ConfigError, reasonOf } from './config-error.ts'

/** The price data in use, and its text, from which anyone can read it again. */
export interface CurrentCatalog {
  readonly entries: CatalogEntries
  readonly text: string
  /** `null`: it came with the package. */
  readonly file: string | null
}

/** Where `prices update` puts a newer catalog, and gateways look for one. */
export function catalogFileOf(dataDir: string): string {
  return join(dataDir, 'catalog.json')
}

/**
 * The catalog that an operator gave by `prices update`, else the one of the package. Prices must never change in
 * silence, so a file that is there and cannot be read is an error.
 *
 * @throws {ConfigError} with all that is wrong with the file.
 */
export function readCurrentCatalog(dataDir: string): CurrentCatalog {
  const file = catalogFileOf(dataDir)
  const text = readIfThere(file)
  if (text === null) return { entries: bundledEntries(), text: bundledText(), file: null }
  const { entries, problems } = readCatalogFile(text)
  if (entries === null) throw new ConfigError(problems.map((problem) => `${file}: ${problem}`))
  return { entries, text, file }
}

/**
 * Reads price data again from the text that was kept with a rule, under the source it had then.
 *
 * @throws {Error} when it is not price data.
 */
export function catalogOfText(source: string, text: string): CatalogEntries {
  const { entries, problems } = readCatalogFile(text)
  if (entries === null) throw new Error(`the catalog ${source} cannot be read: ${problems[0]}`)
  return { ...entries, source }
}

function readIfThere(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw new ConfigError([`${file}: cannot be read: ${reasonOf(error)}`])
  }
}
