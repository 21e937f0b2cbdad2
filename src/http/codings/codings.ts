import { Transform, type TransformCallback } from 'node:stream'
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib'

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

type Inflater = Transform & { readonly bytesWritten: number }

/** More than any server flushes in one answer. Each one costs a decoder. */
const MAX_MEMBERS = 10_000

/**
 * Decodes a body that consists of several compressed streams, as servers write that end a frame with each
 * flush (zstd: RFC 8878, section 3; gzip's decoder does this itself). Node's decoders end with the first
 * stream that ends within a chunk. Bytes after the last stream that begin no other are left out.
 */
class MemberInflater extends Transform {
  readonly #open: () => Inflater
  #inflater: Inflater
  #members = 1
  #decodedBytes = 0
  #bytesBefore = 0
  /** Bytes that come now belong to no stream. */
  #isOver = false
  /** The callback of the chunk that is being decoded: a decoder that fails does not call it. */
  #done: TransformCallback | null = null

  constructor(open: () => Inflater) {
    super()
    this.#open = open
    this.#inflater = this.#next()
  }

  /** How many encoded bytes were decoded. */
  get bytesWritten(): number {
    return this.#bytesBefore + this.#inflater.bytesWritten
  }

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    this.#done = done
    if (this.#isOver) this.#proceed()
    else this.#write(chunk)
  }

  override _flush(done: TransformCallback): void {
    const inflater = this.#inflater
    if (this.#isOver || inflater.readableEnded) {
      done()
      return
    }
    this.#done = done
    inflater.once('end', () => this.#proceed())
    inflater.end()
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#inflater.destroy()
    done(error)
  }

  /** There is room again. */
  override _read(size: number): void {
    this.#inflater.resume()
    super._read(size)
  }

  #proceed(): void {
    const done = this.#done
    this.#done = null
    done?.()
  }

  #write(chunk: Buffer): void {
    const inflater = this.#inflater
    const before = inflater.bytesWritten
    inflater.write(chunk, () => {
      if (this.destroyed || this.#isOver) return
      const taken = inflater.bytesWritten - before
      if (taken === chunk.length) {
        this.#proceed()
        return
      }
      this.#bytesBefore += inflater.bytesWritten
      this.#members += 1
      if (this.#members > MAX_MEMBERS) {
        this.destroy(new Error('too many members'))
        return
      }
      this.#inflater = this.#next()
      this.#write(chunk.subarray(taken))
    })
  }

  #next(): Inflater {
    const inflater = this.#open()
    const decodedBefore = this.#decodedBytes
    inflater.on('data', (decoded: Buffer) => {
      this.#decodedBytes += decoded.length
      // Else all that a few bytes stand for would be kept here while the reader waits.
      if (!this.push(decoded)) inflater.pause()
    })
    inflater.on('error', (error) => {
      const isNone = this.#decodedBytes === decodedBefore || isUnknownFrame(error)
      if (this.#decodedBytes === 0 || !isNone) {
        this.destroy(error)
        return
      }
      this.#isOver = true
      this.#proceed()
    })
    return inflater
  }
}

/** zstd's decoder begins the next frame itself if the last one ended with its chunk. */
function isUnknownFrame(error: Error & { readonly code?: string }): boolean {
  return error.code === 'ZSTD_error_prefix_unknown'
}

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
