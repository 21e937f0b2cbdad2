/** Takes the elements of a stream of JSON texts: lines of NDJSON, members of an array. */
export interface ElementSink {
  /** One whole element. The bytes are borrowed: they are the sink's only during the call. */
  whole(bytes: Buffer): void
  /**
   * The next bytes of an element that is too large to be collected; `last` with the final ones, which may be
   * none at all. Borrowed likewise.
   */
  piece(bytes: Buffer, last: boolean): void
}

/** Puts one element together from the chunks it came in, until it grows too large for that. */
export interface ElementBuffer {
  /** More bytes of the element under way. */
  add(bytes: Buffer): void
  /** The element's final bytes. */
  finish(bytes: Buffer): void
  /** Bytes held of the element under way, or handed on if it is large: 0 between elements. */
  readonly size: number
}

/** Up to this many bytes an element is collected: a stream's events are rarely a tenth of it. */
const MAX_COLLECTED_BYTES = 64 * 1024

/** So many small pieces are joined into one: a buffer object outweighs a byte a hundredfold. */
const JOINED_AT_ONCE = 64

/** Bytes that came in pieces, kept until they are whole: neither copied again and again nor held as many small buffers. */
export class ChunkBuffer {
  #joined: Buffer[] = []
  #latest: Buffer[] = []
  #size = 0

  /** Bytes kept. */
  get size(): number {
    return this.#size
  }

  /** Keeps `piece` itself, not a copy. */
  add(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.#size += chunk.length
    this.#latest.push(chunk)
    if (this.#latest.length < JOINED_AT_ONCE) return
    this.#joined.push(Buffer.concat(this.#latest))
    this.#latest = []
  }

  /** All bytes as one, and none are kept any more. A single piece is given as it came. */
  take(): Buffer {
    const all = [...this.#joined, ...this.#latest]
    this.clear()
    const [only] = all
    return all.length === 1 && only !== undefined ? only : Buffer.concat(all)
  }

  clear(): void {
    this.#joined = []
    this.#latest = []
    this.#size = 0
  }
}

/** Collects elements of up to `maxBytes`; a larger one goes to the sink piece by piece. */
export function createElementBuffer(
  sink: ElementSink,
  maxBytes: number = MAX_COLLECTED_BYTES,
): ElementBuffer {
  const held = new ChunkBuffer()
  let size = 0
  let inPieces = false

  return {
    add(bytes) {
      if (bytes.length === 0) return
      size += bytes.length
      if (!inPieces && size <= maxBytes) {
        held.add(Buffer.from(bytes))
        return
      }
      if (!inPieces && held.size > 0) sink.piece(held.take(), false)
      inPieces = true
      sink.piece(bytes, false)
    },
    finish(bytes) {
      if (inPieces) {
        sink.piece(bytes, true)
      } else if (held.size === 0) {
        if (bytes.length > 0) sink.whole(bytes)
      } else {
        held.add(bytes)
        sink.whole(held.take())
      }
      size = 0
      inPieces = false
    },
    get size() {
      return size
    },
  }
}

/** The same bytes as a `Buffer`, not copied: its searches are the fast ones. */
export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
