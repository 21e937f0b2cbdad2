import { createHash } from 'node:crypto'
import { reasonOf } from '../../lib/reason-of.ts'
import { BackupError } from './backup-error.ts'
import { type Manifest, parseEnd, parseLine, parseManifest } from './manifest.ts'

/**
 * The archive, format 1: lines of JSON, and behind those that say `bytes` so many bytes of rows. All of it is one gzip
 * stream.
 *
 *     {"format":"tallygate backup","version":1,...}         the manifest
 *     {"table":"clients","bytes":65536}                     rows of `copy`, in Postgres's text format
 *     {"table":"clients","rows":812,"sha256":"..."}         the end of a table: all of its rows, and their checksum
 *     {"end":{"tables":31,"rows":90210},"sha256":"..."}     the end: the checksum of all lines before
 */

/** A part of an archive, in the order of reading. */
export type ArchivePart =
  | { readonly kind: 'manifest'; readonly manifest: Manifest }
  | { readonly kind: 'rows'; readonly table: string; readonly bytes: Buffer }
  | { readonly kind: 'table'; readonly table: string; readonly rows: number }

const LONGEST_LINE_BYTES = 16_777_216
const LONGEST_PART_BYTES = 16_777_216
const LINE_FEED = 10

/** Writes an archive part by part. Each method gives bytes that are to be written in that order. */
export class ArchiveWriter {
  readonly #lines = createHash('sha256')
  #rowsHash = createHash('sha256')
  #tables = 0
  #rows = 0

  manifest(manifest: Manifest): Buffer {
    return this.#line(manifest)
  }

  rows(table: string, bytes: Buffer): Buffer {
    this.#rowsHash.update(bytes)
    return Buffer.concat([this.#line({ table, bytes: bytes.length }), bytes])
  }

  table(table: string, rows: number): Buffer {
    const sha256 = this.#rowsHash.digest('hex')
    this.#rowsHash = createHash('sha256')
    this.#tables += 1
    this.#rows += rows
    return this.#line({ table, rows, sha256 })
  }

  end(): Buffer {
    const sha256 = this.#lines.copy().digest('hex')
    return this.#line({ end: { tables: this.#tables, rows: this.#rows }, sha256 })
  }

  #line(value: unknown): Buffer {
    const line = Buffer.from(`${JSON.stringify(value)}\n`)
    this.#lines.update(line)
    return line
  }
}

/**
 * Reads an archive, and checks all of it: one that was read to its end is whole.
 *
 * @param source The bytes, unpacked.
 * @throws {BackupError} When it is another file, is damaged or cut, or of a format that this release does not read.
 */
export async function* readArchive(source: AsyncIterable<Buffer>): AsyncGenerator<ArchivePart> {
  const bytes = new ByteReader(source)
  const lines = createHash('sha256')
  const first = await bytes.line()
  const manifest = parseManifest(first.toString())
  lines.update(first)
  yield { kind: 'manifest', manifest }
  let rowsHash = createHash('sha256')
  let tables = 0
  let rows = 0
  for (;;) {
    const line = await bytes.line()
    const text = line.toString()
    const said = parseLine(text)
    if (said === null) {
      const end = parseEnd(text)
      if (end === null) throw damaged('a line in it cannot be read')
      if (end.sha256 !== lines.digest('hex') || end.end.tables !== tables || end.end.rows !== rows)
        throw damaged('its checksum is wrong')
      if (!(await bytes.isAtEnd())) throw damaged('something follows its end')
      return
    }
    lines.update(line)
    if ('bytes' in said) {
      const part = await bytes.take(said.bytes)
      rowsHash.update(part)
      yield { kind: 'rows', table: said.table, bytes: part }
      continue
    }
    if (said.sha256 !== rowsHash.digest('hex')) throw damaged(`the checksum of ${said.table} is wrong`)
    rowsHash = createHash('sha256')
    tables += 1
    rows += said.rows
    yield { kind: 'table', table: said.table, rows: said.rows }
  }
}

function damaged(why: string): BackupError {
  return new BackupError(`the backup is damaged: ${why}; nothing was changed`)
}

/** Takes lines and counted bytes from a stream of any pieces. */
class ByteReader {
  readonly #source: AsyncIterator<Buffer>
  #rest: Buffer = Buffer.alloc(0)

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** One line with its line feed. */
  async line(): Promise<Buffer> {
    for (;;) {
      const at = this.#rest.indexOf(LINE_FEED)
      if (at !== -1) return this.#cut(at + 1)
      if (this.#rest.length > LONGEST_LINE_BYTES) throw damaged('a line in it has no end')
      await this.#more()
    }
  }

  async take(length: number): Promise<Buffer> {
    if (length > LONGEST_PART_BYTES) throw damaged('a part of it is too long')
    while (this.#rest.length < length) await this.#more()
    return this.#cut(length)
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && (await this.#next()) === null
  }

  #cut(length: number): Buffer {
    const part = this.#rest.subarray(0, length)
    this.#rest = this.#rest.subarray(length)
    return part
  }

  async #more(): Promise<void> {
    const piece = await this.#next()
    if (piece === null) throw damaged('it is cut off')
    this.#rest = Buffer.concat([this.#rest, piece])
  }

  async #next(): Promise<Buffer | null> {
    try {
      const { value, done } = await this.#source.next()
      return done === true ? null : value
    } catch (error) {
      throw damaged(`it cannot be unpacked (${reasonOf(error)})`)
    }
  }
}
