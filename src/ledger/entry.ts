import { crc32 } from 'node:zlib'

export {
  type GapMarker,
  parseRecord,
  serialiseGapMarker,
  serialiseRecord,
} from '../call/codec/record-codec.ts'

/** The version of bodies we write and the highest we read. The envelope itself never changes its form. */
export const ENTRY_VERSION = 1

/** One stream entry whose checksum holds and whose version we read. */
export interface Entry {
  readonly kind: 'entry'
  /** 32 lower-case hex digits. */
  readonly producer: string
  /** 1, 2, 3, ... within the producer. Of a gap marker: the last sequence it stands for. */
  readonly sequence: number
  /** A record or a gap marker, for `parseRecord`. */
  readonly body: string
  /** The identity of the database that is to count it; `null`: its gateway did not say, as older ones do not. */
  readonly database: string | null
}

const PRODUCER = /^[0-9a-f]{32}$/
const SEQUENCE = /^[1-9][0-9]{0,15}$/
const VERSION = /^[1-9][0-9]{0,5}$/

/** Tells whether `text` has the form of a producer's id: 32 lower-case hex digits. */
export function isProducer(text: string): boolean {
  return PRODUCER.test(text)
}

/**
 * The fields of a stream entry, names and values in turn, as `XADD` takes them.
 *
 * @param database the tag of the database that is to count it, of `tagDatabase`; `null`: it is not said.
 */
export function encodeEntry(
  producer: string,
  sequence: number,
  body: string,
  database: string | null = null,
): string[] {
  const version = `${ENTRY_VERSION}`
  const checksum = checksumOf(producer, `${sequence}`, version, body)
  const fields = ['p', producer, 's', `${sequence}`, 'v', version, 'c', checksum, 'r', body]
  if (database !== null) fields.push('d', database)
  return fields
}

/**
 * The identity of a database as entries carry it: with a checksum of its own, `identity:crc32`. That of the entry
 * covers what workers of older releases know, and they would delete an entry for one that covers more.
 */
export function tagDatabase(database: string): string {
  return `${database}:${hexOf(crc32(database))}`
}

/** Nearly all entries have the tag of the entry before. */
let lastTag = ''
let lastDatabase: string | null = null

/** The identity in a tag; `null`: it is not as it was written. */
function untagDatabase(tag: string): string | null {
  if (tag === lastTag) return lastDatabase
  const database = tag.slice(0, Math.max(tag.lastIndexOf(':'), 0))
  lastTag = tag
  lastDatabase = database !== '' && tagDatabase(database) === tag ? database : null
  return lastDatabase
}

/**
 * Reads the fields of a stream entry, in whatever order they stand. `corrupt`: not an entry, or not as it was
 * written. `newer`: written by a release after ours. The checksum covers the version too, so that a damaged
 * entry never passes for a newer one.
 */
export function parseEntry(
  fields: readonly string[],
): Entry | { readonly kind: 'corrupt' } | { readonly kind: 'newer' } {
  let producer = ''
  let sequence = ''
  let version = ''
  let checksum = ''
  let body = ''
  let tag: string | null = null
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const value = fields[index + 1] ?? ''
    switch (fields[index]) {
      case 'p':
        producer = value
        break
      case 's':
        sequence = value
        break
      case 'v':
        version = value
        break
      case 'c':
        checksum = value
        break
      case 'r':
        body = value
        break
      case 'd':
        tag = value
        break
    }
  }
  const wellFormed = PRODUCER.test(producer) && SEQUENCE.test(sequence) && VERSION.test(version)
  const number = Number(sequence)
  if (!wellFormed || !Number.isSafeInteger(number)) return { kind: 'corrupt' }
  if (checksum !== checksumOf(producer, sequence, version, body)) return { kind: 'corrupt' }
  if (Number(version) > ENTRY_VERSION) return { kind: 'newer' }
  const database = tag === null ? null : untagDatabase(tag)
  if (tag !== null && database === null) return { kind: 'corrupt' }
  return { kind: 'entry', producer, sequence: number, body, database }
}

/** CRC-32 of `producer:sequence:version:body` in UTF-8, as 8 lower-case hex digits. */
function checksumOf(producer: string, sequence: string, version: string, body: string): string {
  return hexOf(crc32(body, crc32(`${producer}:${sequence}:${version}:`)))
}

function hexOf(crc: number): string {
  return crc.toString(16).padStart(8, '0')
}
