import type { Transform } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'
import { MemberInflater } from './member-inflater.ts'

/** Opens a decoder of one content coding. Some codings differ by the body's first byte. */
export type OpenInflater = (firstByte: number) => Transform & { readonly bytesWritten: number }

/** `whole`: a body that was cut is an error. `cut`: a cut body gives what it holds. */
export type InflaterEnd = 'whole' | 'cut'

/** 8 MiB, the largest window that RFC 9659 allows for this coding. */
const ZSTD_WINDOW = { params: { [constants.ZSTD_d_windowLogMax]: 23 } }

const ZLIB_CUT = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }
const BROTLI_CUT = {
  flush: constants.BROTLI_OPERATION_FLUSH,
  finishFlush: constants.BROTLI_OPERATION_FLUSH,
}
const ZSTD_CUT = { flush: constants.ZSTD_e_flush, finishFlush: constants.ZSTD_e_flush, ...ZSTD_WINDOW }

/**
 * A request's body is one compressed stream: of several, some servers read the first and others all. An
 * answer may consist of several, since even a client that reads only the first has received the others.
 */
const OPENERS: Readonly<Record<InflaterEnd, ReadonlyMap<string, OpenInflater>>> = {
  whole: openers({}, {}, ZSTD_WINDOW),
  cut: new Map([
    ...openers(ZLIB_CUT, BROTLI_CUT, ZSTD_CUT),
    ['br', () => new MemberInflater(() => createBrotliDecompress(BROTLI_CUT))],
    ['zstd', () => new MemberInflater(() => createZstdDecompress(ZSTD_CUT))],
  ]),
}

/**
 * How a body with the content coding `name` (in lower case) is decoded; `undefined`: the coding is unknown.
 */
export function inflaterOf(name: string, end: InflaterEnd): OpenInflater | undefined {
  return OPENERS[end].get(name)
}

function openers(zlib: object, brotli: object, zstd: object): ReadonlyMap<string, OpenInflater> {
  return new Map<string, OpenInflater>([
    ['gzip', () => createGunzip(zlib)],
    ['x-gzip', () => createGunzip(zlib)],
    // RFC 9110 means zlib's format, but some servers send bare deflate. zlib's header begins with compression
    // method 8.
    ['deflate', (first) => ((first & 0x0f) === 8 ? createInflate(zlib) : createInflateRaw(zlib))],
    ['br', () => createBrotliDecompress(brotli)],
    ['zstd', () => createZstdDecompress(zstd)],
  ])
}
