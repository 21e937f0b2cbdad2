import { randomFillSync } from 'node:crypto'

// Random bytes are drawn for many ids at once: one call into the kernel per id would cost more than the id.
const BYTES_PER_ID = 10
const pool = Buffer.alloc(BYTES_PER_ID * 1024)
let used = pool.length

const HEX = Buffer.from('0123456789abcdef', 'latin1')
const VARIANTS = Buffer.from('89ab', 'latin1')
/** The id under way: only its digits change. */
const text = Buffer.from('00000000-0000-7000-8000-000000000000', 'latin1')
/** Positions of the digits of the time, the lowest first, and those of the ten random bytes. */
const TIME_AT = [12, 11, 10, 9, 7, 6, 5, 4, 3, 2, 1, 0]
const RANDOM_AT = [15, 16, 17, 20, 21, 22, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35]
const VARIANT_AT = 19
let writtenMs = -1

/** A new call id: UUID version 7 (RFC 9562), so that rows inserted together lie together. */
export function newCallId(epochMs: number): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  if (epochMs !== writtenMs) writeTime(epochMs)
  // Eighteen digits of nine bytes, and two bits of the tenth.
  for (let digit = 0; digit < RANDOM_AT.length; digit += 2) {
    const byte = pool[used++] ?? 0
    text[RANDOM_AT[digit] ?? 0] = HEX[byte >>> 4] ?? 0
    text[RANDOM_AT[digit + 1] ?? 0] = HEX[byte & 0xf] ?? 0
  }
  text[VARIANT_AT] = VARIANTS[(pool[used++] ?? 0) & 0x3] ?? 0
  return text.toString('latin1')
}

function writeTime(epochMs: number): void {
  writtenMs = epochMs
  let rest = Math.floor(epochMs)
  for (const at of TIME_AT) {
    text[at] = HEX[rest % 16] ?? 0
    rest = Math.floor(rest / 16)
  }
}
