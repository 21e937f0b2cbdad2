import { createHash } from 'node:crypto'
import type { CatalogDocument } from '#prices/catalog-document.ts'

/** What `bundle.json` says of each list beside its prices. */
export interface ListHeader {
  readonly source: string
  /** Of the newest price in it, or of the list itself: data that was fetched on an earlier day is older. */
  readonly day: string
  /** The package that it was taken from, with its version, and the hash of that archive. */
  readonly package: string
  readonly archive_sha256: string
  readonly license: string
  readonly providers: readonly string[]
  /** Of the list's file; hexadecimal. */
  readonly sha256: string
}

/**
 * A list as its file has it: one model a line, so that a newer one can be reviewed, and each provider between lines of
 * its own, so that one can be read without the others. Nothing but ASCII, so that a character is a byte.
 */
export function renderList(document: CatalogDocument): string {
  const providers = document.map(({ id, models, ...rest }) => {
    const head = JSON.stringify({ id, ...rest, models: [] }).slice(0, -2)
    const lines = models.map((model) => ` ${JSON.stringify(model)}`)
    return models.length === 0 ? `${head}]}` : `${head}\n${lines.join(',\n')}\n]}`
  })
  return `[\n${providers.join(',\n')}\n]\n`.replace(
    /[^\n\x20-\x7e]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Hexadecimal. */
export function sha256Of(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
