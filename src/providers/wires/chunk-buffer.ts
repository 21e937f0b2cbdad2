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
