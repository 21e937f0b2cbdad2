/** Of a body, this much of its beginning and this much of its end are kept: 64 KiB in all. */
const WINDOW_BYTES = 32 * 1024
const FIRST_HEAD_BYTES = 4 * 1024

/** Bodies up to here, in so few chunks, are nearly always over before anything of them is wanted. */
const PENDING_BYTES = 64 * 1024
const PENDING_CHUNKS = 64
/** One chunk alone may be longer, for it may be all of the body: a read of a socket brings no more. */
const ONLY_CHUNK_BYTES = 96 * 1024
/** What waits of a longer one: one of few bytes weighs more than they. */
const LATER_PENDING_BYTES = 8 * 1024
const LATER_PENDING_CHUNKS = 16
/**
 * What may be kept along with the chunks. A short one is a piece of 8 KiB that it shares with other calls, and of a
 * slow stream's chunks each has other such neighbours.
 */
const PENDING_MEMORY = 64 * 1024
const LATER_PENDING_MEMORY = 16 * 1024

/** Memory of bodies that are over, for the next, by its size: making some costs as much as filling it. 4 MiB in all. */
const MAX_SPARE = 64
const spare: ReadonlyMap<number, Buffer[]> = new Map(
  [FIRST_HEAD_BYTES, 2 * FIRST_HEAD_BYTES, 4 * FIRST_HEAD_BYTES, WINDOW_BYTES].map((bytes) => [bytes, []]),
)

const EMPTY = Buffer.alloc(0)

/** What is kept of a body: its beginning and, of one longer than that, its end. */
export interface KeptBytes {
  readonly head: Buffer
  /** The last bytes behind the head; empty while the head has them all. */
  readonly tail: Buffer
  /** How many bytes passed between the two and were not kept. */
  readonly between: number
}

/** Keeps the beginning and the end of a body as it passes. */
export class BodyWindows {
  #head: Buffer = EMPTY
  #headBytes = 0
  /** The last bytes behind the head, as a ring; made only for bodies that fill the head. */
  #tail: Buffer = EMPTY
  #tailBytes = 0
  /** The latest chunks, not copied yet. */
  #pending: Uint8Array[] = []
  #pendingBytes = 0
  /** Bytes of all the memory that they are pieces of. */
  #pendingMemory = 0
  #latestMemory: ArrayBufferLike | null = null

  /** The next bytes. Copied as far as they are kept. */
  push(chunk: Uint8Array): void {
    this.#copyPending()
    this.#copy(chunk)
  }

  /** As {@link push}, of bytes that are not overwritten: of a short body none is copied, unless it is asked for. */
  keep(chunk: Uint8Array): void {
    this.#pending.push(chunk)
    this.#pendingBytes += chunk.length
    const memory = chunk.buffer
    if (memory !== this.#latestMemory) {
      this.#latestMemory = memory
      this.#pendingMemory += memory.byteLength
    }
    const isLong = this.#headBytes > 0
    if (!isLong && this.#pending.length === 1 && this.#pendingMemory <= ONLY_CHUNK_BYTES) return
    if (
      this.#pendingBytes > (isLong ? LATER_PENDING_BYTES : PENDING_BYTES) ||
      this.#pendingMemory > (isLong ? LATER_PENDING_MEMORY : PENDING_MEMORY) ||
      this.#pending.length >= (isLong ? LATER_PENDING_CHUNKS : PENDING_CHUNKS)
    ) {
      this.#copyPending()
    }
  }

  /** Borrowed: valid until the next call. */
  kept(): KeptBytes {
    this.#copyPending()
    const tail = this.#tailInOrder()
    return { head: this.#head.subarray(0, this.#headBytes), tail, between: this.#tailBytes - tail.length }
  }

  /** Nothing is kept any more. What {@link kept} gave may be overwritten. */
  release(): void {
    giveBack(this.#head)
    giveBack(this.#tail)
    this.#head = EMPTY
    this.#headBytes = 0
    this.#tail = EMPTY
    this.#tailBytes = 0
    this.#dropPending()
  }

  #copyPending(): void {
    if (this.#pending.length === 0) return
    this.#growHead(this.#headBytes + this.#pendingBytes)
    for (const chunk of this.#pending) this.#copy(chunk)
    this.#dropPending()
  }

  #dropPending(): void {
    this.#pending = []
    this.#pendingBytes = 0
    this.#pendingMemory = 0
    this.#latestMemory = null
  }

  #copy(chunk: Uint8Array): void {
    const toHead = Math.min(chunk.length, WINDOW_BYTES - this.#headBytes)
    if (toHead > 0) this.#copyToHead(chunk, toHead)
    if (toHead < chunk.length) this.#copyToTail(toHead > 0 ? chunk.subarray(toHead) : chunk)
  }

  #copyToHead(chunk: Uint8Array, bytes: number): void {
    const needed = this.#headBytes + bytes
    this.#growHead(needed)
    this.#head.set(bytes === chunk.length ? chunk : chunk.subarray(0, bytes), this.#headBytes)
    this.#headBytes = needed
  }

  /** Makes room for so many bytes. Most bodies are short and many streams are open: it grows with what passes. */
  #growHead(wanted: number): void {
    const needed = Math.min(wanted, WINDOW_BYTES)
    if (needed <= this.#head.length) return
    let bytes = FIRST_HEAD_BYTES
    while (bytes < needed) bytes *= 2
    const head = take(bytes)
    this.#head.copy(head, 0, 0, this.#headBytes)
    giveBack(this.#head)
    this.#head = head
  }

  #copyToTail(chunk: Uint8Array): void {
    if (this.#tail.length === 0) this.#tail = take(WINDOW_BYTES)
    const kept = chunk.length > WINDOW_BYTES ? chunk.subarray(chunk.length - WINDOW_BYTES) : chunk
    const at = (this.#tailBytes + chunk.length - kept.length) % WINDOW_BYTES
    const untilEdge = WINDOW_BYTES - at
    if (kept.length <= untilEdge) {
      this.#tail.set(kept, at)
    } else {
      this.#tail.set(kept.subarray(0, untilEdge), at)
      this.#tail.set(kept.subarray(untilEdge), 0)
    }
    this.#tailBytes += chunk.length
  }

  #tailInOrder(): Buffer {
    if (this.#tailBytes <= WINDOW_BYTES) return this.#tail.subarray(0, this.#tailBytes)
    const oldest = this.#tailBytes % WINDOW_BYTES
    return Buffer.concat([this.#tail.subarray(oldest), this.#tail.subarray(0, oldest)])
  }
}

function take(bytes: number): Buffer {
  return spare.get(bytes)?.pop() ?? Buffer.allocUnsafeSlow(bytes)
}

function giveBack(memory: Buffer): void {
  const same = spare.get(memory.length)
  if (same !== undefined && same.length < MAX_SPARE) same.push(memory)
}
