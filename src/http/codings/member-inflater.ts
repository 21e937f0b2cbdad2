import { Transform, type TransformCallback } from 'node:stream'

type Inflater = Transform & { readonly bytesWritten: number }

/** More than any server flushes in one answer; each costs a decoder of its own. */
const MAX_MEMBERS = 10_000

/**
 * Decodes a body that is several compressed ones behind each other, as servers write that end a frame with each flush
 * (zstd: RFC 8878, section 3; gzip's decoder does it by itself). Node's decoders end with the first one that ends amid
 * a chunk. What stands behind the last one and is none is left out.
 */
export class MemberInflater extends Transform {
  readonly #open: () => Inflater
  #inflater: Inflater
  #members = 1
  #decodedBytes = 0
  #bytesBefore = 0
  /** What comes is none of these any more. */
  #isOver = false
  /** Of the chunk that is being decoded; a decoder that fails calls none of its own. */
  #done: TransformCallback | null = null

  constructor(open: () => Inflater) {
    super()
    this.#open = open
    this.#inflater = this.#next()
  }

  /** Encoded bytes that were decoded. */
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
      this.push(decoded)
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

/** zstd's decoder begins the next frame itself where the one before it ended with a chunk. */
function isUnknownFrame(error: Error & { readonly code?: string }): boolean {
  return error.code === 'ZSTD_error_prefix_unknown'
}
