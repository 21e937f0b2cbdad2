import { createReadStream } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { setImmediate } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { reasonOf } from '../../lib/reason-of.ts'
import { Failure } from '../../operations/failure.ts'
import { type Cells, columnName } from './formats/format.ts'
import { BadRow } from './invoice-row.ts'
import { cellsOf, splitRecords, type WrittenRecord } from './split-records.ts'

/** A record, its line, and the names of its members where they are not those of the one before. */
export interface ReadRecord {
  readonly line: number
  readonly cells: Cells
  readonly names: readonly string[]
}

const PIECE = 64 * 1024
const GZIP = Buffer.from([0x1f, 0x8b])

/** The bytes of a file on this machine, unpacked where they are packed. @throws {Failure} It cannot be read. */
export async function openInvoiceFile(file: string): Promise<AsyncIterable<Buffer>> {
  const head = createReadStream(file, { end: 1 })
  const [first] = (await head.toArray().catch((error: unknown) => {
    throw new Failure(`${file} cannot be read: ${reasonOf(error)}`)
  })) as Buffer[]
  return bytesOf(file, first?.equals(GZIP) === true)
}

/** Opens it once it is read: what fails before would have no reader. @throws {BadRow} It ends too early, or is not of gzip. */
async function* bytesOf(file: string, isPacked: boolean): AsyncGenerator<Buffer> {
  const bytes = createReadStream(file)
  try {
    if (!isPacked) return yield* bytes
    const gunzip = createGunzip()
    bytes.once('error', (error) => gunzip.destroy(error))
    yield* bytes.pipe(gunzip)
  } catch (error) {
    throw new BadRow(reasonOf(error))
  } finally {
    bytes.destroy()
  }
}

/**
 * The records of an invoice: rows of CSV under their header, objects in lines of JSON, or the results in pages of
 * JSON. Of each part of the text those that it ends.
 *
 * @throws {BadRow} It is none of these.
 */
export async function* readRecords(
  source: AsyncIterable<Buffer> | string,
): AsyncGenerator<readonly ReadRecord[]> {
  const chunks = typeof source === 'string' ? piecesOf(source) : textOf(source)
  const first = await chunks.next()
  if (first.done === true) return
  const begun = first.value.replace(/^\ufeff/, '')
  const all = joined(begun, chunks)
  yield* /^\s*[[{]/.test(begun) ? readJson(all) : readCsv(all)
}

/** A gateway that is sent a text serves others meanwhile. */
async function* piecesOf(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += PIECE) {
    yield text.slice(at, at + PIECE)
    await setImmediate()
  }
}

async function* textOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8')
  for await (const chunk of bytes) {
    const text = decoder.write(chunk)
    if (text !== '') yield text
  }
}

async function* joined(first: string, rest: AsyncGenerator<string>): AsyncGenerator<string> {
  yield first
  yield* rest
}

async function* readCsv(chunks: AsyncIterable<string>): AsyncGenerator<readonly ReadRecord[]> {
  let names: readonly string[] | null = null
  let places: ReadonlyMap<string, number> = new Map()
  for await (const records of splitRecords(chunks, true)) {
    const read: ReadRecord[] = []
    for (const { line, text } of records) {
      if (text === '') continue
      const cells = cellsOf(text)
      if (names === null) {
        names = cells
        places = placesOf(cells)
        continue
      }
      if (cells.length < names.length)
        throw new BadRow(`line ${line} has ${cells.length} cells of ${names.length}: the file may be cut`)
      if (cells.slice(names.length).some((cell) => cell !== ''))
        throw new BadRow(`line ${line} has more cells than there are columns`)
      read.push({ line, names, cells: cellsBy((name) => writtenIn(cells[places.get(name) ?? -1])) })
    }
    if (read.length > 0) yield read
  }
}

/** The FinOps Foundation's samples write NULL where there is nothing. */
function writtenIn(cell: string | undefined): string | undefined {
  return cell === 'NULL' ? '' : cell
}

/** Of two columns of one name the first counts. */
function placesOf(names: readonly string[]): ReadonlyMap<string, number> {
  return new Map(names.map((name, index) => [columnName(name), index] as const).toReversed())
}

function cellsBy(find: (name: string) => string | undefined): Cells {
  return {
    get(...names) {
      for (const name of names) {
        const cell = find(columnName(name))
        if (cell !== undefined && cell !== '') return cell
      }
      return ''
    },
  }
}

/** A line each, or where the first line is not a whole document, one document. */
async function* readJson(chunks: AsyncIterable<string>): AsyncGenerator<readonly ReadRecord[]> {
  let isWhole = false
  const kept: string[] = []
  for await (const records of splitRecords(chunks, false)) {
    const read: ReadRecord[] = []
    for (const record of records) {
      if (record.text.trim() === '') continue
      const found = isWhole ? null : parsed(record, kept.length === 0 && record.line === 1)
      if (found === null) {
        isWhole = true
        kept.push(record.text)
      } else read.push(...recordsIn(found, record.line))
    }
    if (read.length > 0) yield read
  }
  if (isWhole) yield recordsIn(parsed({ line: 1, text: kept.join('\n') }, false), 1)
}

/** `null`: it is the beginning of a document. */
function parsed({ line, text }: WrittenRecord, mayGoOn: boolean): unknown {
  try {
    return JSON.parse(text)
  } catch {
    if (mayGoOn) return null
    throw new BadRow(`line ${line} is not JSON`)
  }
}

/** No export has members of members of as many. */
const DEEPEST = 6

/** Pages have buckets of days, and these have results; all else is a record. */
export function recordsIn(document: unknown, line: number, depth = 0): readonly ReadRecord[] {
  if (typeof document !== 'object' || document === null || depth > DEEPEST)
    throw new BadRow(`line ${line} is not an object of an invoice`)
  if (Array.isArray(document)) return document.flatMap((one) => recordsIn(one, line, depth + 1))
  if ('data' in document && Array.isArray(document.data)) return recordsIn(document.data, line, depth + 1)
  if (!('results' in document) || !Array.isArray(document.results)) return [recordOf(document, line)]
  const { results, ...bucket } = document
  return results.map((result) => recordOf({ ...bucket, ...result }, line))
}

function recordOf(document: object, line: number): ReadRecord {
  const members = new Map<string, string>()
  const names: string[] = []
  const add = (prefix: string, value: object, depth: number) => {
    if (depth > DEEPEST) throw new BadRow(`line ${line} is not an object of an invoice`)
    for (const [name, member] of Object.entries(value)) {
      const path = `${prefix}${name}`
      if (typeof member === 'object' && member !== null && !Array.isArray(member)) {
        add(`${path}.`, member, depth + 1)
        continue
      }
      names.push(path)
      if (member !== null)
        members.set(columnName(path), Array.isArray(member) ? JSON.stringify(member) : `${member}`)
    }
  }
  add('', document, 0)
  return { line, names, cells: cellsBy((name) => members.get(name)) }
}
