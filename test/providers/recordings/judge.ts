import { isDeepStrictEqual } from 'node:util'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import type { Observation } from '../../../src/call/observation.ts'
import type { Dialect, RequestContext, ResponseHead, UsageReader } from '../../../src/providers/dialect.ts'
import { seededRandom } from '../../support/seeded-random.ts'

/** One response, recorded or made by hand, and how to read it. */
export interface Exchange {
  readonly id: string
  readonly dialect: Dialect
  readonly request: RequestContext
  readonly head: ResponseHead
  /** The body with its content-encoding undone. */
  readonly body: Buffer
}

export function readWhole({ dialect, request, head, body }: Exchange): Observation {
  return readPieces(dialect.createReader(request, head), [body])
}

/** Reads the body cut before each of these bytes, which ascend. */
export function readCutAt(
  { dialect, request, head, body }: Exchange,
  ...places: readonly number[]
): Observation {
  const pieces = [...places, body.length].map((end, index) => body.subarray(places[index - 1] ?? 0, end))
  return readPieces(dialect.createReader(request, head), pieces)
}

/** Reads the body byte by byte, asking after each what was seen so far; gives every answer, the last one last. */
export function readBytes({ dialect, request, head, body }: Exchange): {
  readonly peeked: readonly Observation[]
  readonly last: Observation
} {
  const reader = dialect.createReader(request, head)
  const peeked: Observation[] = []
  let known = reader.peek()
  let revision = reader.revision
  peeked.push(known)
  for (let at = 0; at < body.length; at += 1) {
    pushCopy(reader, body.subarray(at, at + 1))
    if (reader.revision === revision) continue
    revision = reader.revision
    known = reader.peek()
    peeked.push(known)
  }
  return { peeked, last: reader.end() }
}

/** Reads in pieces whose bytes are spoilt after each push: a reader may not keep what it was lent. */
function readPieces(reader: UsageReader, pieces: readonly Buffer[]): Observation {
  for (const piece of pieces) pushCopy(reader, piece)
  return reader.end()
}

let lent = Buffer.alloc(0)

function pushCopy(reader: UsageReader, piece: Buffer): void {
  if (lent.length < piece.length) lent = Buffer.alloc(piece.length)
  const copy = lent.subarray(0, piece.length)
  piece.copy(copy)
  reader.push(copy)
  copy.fill(0x21)
}

/** Not Vitest's equality: this one is cheap enough for a hundred thousand cuts. */
export function sameReading(one: Observation, other: Observation): boolean {
  return isDeepStrictEqual(one, other)
}

/** How many seeded places a body is cut at that is too large for all. */
const CUT_PLACES = 500
/** All of a body is read for each place. Of a large one so much is read in all. */
const READ_BYTES = 200e6
const FEWEST_PLACES = 25

/**
 * Where to cut a body. A small one is cut before every byte; another one before every byte of the last event
 * with usage and at `CUT_PLACES` seeded places. A large one is cut at fewer.
 */
export function cutsOf(body: Buffer, smallBytes: number, readBytes = READ_BYTES): readonly number[] {
  if (body.length <= smallBytes) return Array.from({ length: body.length + 1 }, (_, at) => at)
  const usage = body.lastIndexOf('sage')
  const cuts = new Set<number>([0, 1, 2, 3, body.length - 2, body.length - 1, body.length])
  const places = Math.min(CUT_PLACES, Math.max(FEWEST_PLACES, Math.floor(readBytes / body.length)))
  const before = Math.min(300, places)
  for (let at = Math.max(0, usage - before); at < Math.min(body.length, usage + places); at += 1) cuts.add(at)
  const random = seededRandom(body.length)
  for (let count = 0; count < places; count += 1) cuts.add(Math.floor(random() * body.length))
  return [...cuts]
}

const MOST_READINGS = 32
const FEWEST_READINGS = 6
const READ_TOGETHER_BYTES = 2e6

/**
 * The same places for a few readings in all: each place is a cut of one that has others far from it, and a seeded few are
 * cuts alone. A cut alone at each place reads the body hundreds of times.
 */
export function cutsTogether(body: Buffer, smallBytes: number): readonly (readonly number[])[] {
  const places = cutsOf(body, smallBytes, Number.POSITIVE_INFINITY).toSorted((one, other) => one - other)
  const fitting = Math.floor(READ_TOGETHER_BYTES / body.length)
  const readings = Math.max(FEWEST_READINGS, Math.min(MOST_READINGS, fitting))
  const random = seededRandom(body.length)
  const alone = Array.from({ length: readings / 2 }, () => places[Math.floor(random() * places.length)] ?? 0)
  const together = Array.from({ length: readings }, (_, first) =>
    places.filter((_, index) => index % readings === first),
  )
  return [...together, ...alone.map((at) => [at])]
}

/** Undoes one content-encoding. */
export function decodeBody(body: Buffer, encoding: string | undefined): Buffer {
  switch (encoding) {
    case undefined:
    case '':
    case 'identity':
      return body
    case 'gzip':
      return gunzipSync(body)
    case 'br':
      return brotliDecompressSync(body)
    case 'deflate':
      return inflateSync(body)
    case 'zstd':
      return zstdDecompressSync(body)
    default:
      throw new Error(`content-encoding ${encoding} is not known to the tests`)
  }
}
