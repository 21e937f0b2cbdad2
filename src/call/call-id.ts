import { randomFillSync } from 'node:crypto'

// Random bytes are drawn for many ids at once: one call into the kernel per id would cost more than the id.
const BYTES_PER_ID = 10
const pool = Buffer.alloc(BYTES_PER_ID * 1024)
let used = pool.length

/** A new call id: UUID version 7 (RFC 9562), so that rows inserted together lie together. */
export function newCallId(epochMs: number): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.toString('hex', used, used + BYTES_PER_ID)
  used += BYTES_PER_ID
  const time = Math.floor(epochMs).toString(16).padStart(12, '0')
  const variant = ((Number.parseInt(random.charAt(3), 16) & 0x3) | 0x8).toString(16)
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
}
