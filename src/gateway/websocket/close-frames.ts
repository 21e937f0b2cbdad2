import { randomBytes } from 'node:crypto'

/** RFC 6455 section 7.4.1. */
export const POLICY_VIOLATION = 1008

/** RFC 6455 section 5.5: a control frame's payload has at most 125 bytes, and the code takes two. */
const MAX_REASON_BYTES = 123

/** An unmasked close frame, as a server sends it. A long reason is cut. */
export function closeFrame(code: number, reason = ''): Buffer {
  let text = reason
  while (Buffer.byteLength(text) > MAX_REASON_BYTES) text = text.slice(0, -1)
  const bytes = Buffer.from(text.toWellFormed())
  return Buffer.concat([Buffer.from([0x88, 2 + bytes.length, code >> 8, code & 0xff]), bytes])
}

/** A close frame as a client sends it (RFC 6455 section 5.3). */
export function maskedCloseFrame(code: number): Buffer {
  const mask = randomBytes(4)
  const payload = [(code >> 8) ^ (mask[0] ?? 0), (code & 0xff) ^ (mask[1] ?? 0)]
  return Buffer.from([0x88, 0x82, ...mask, ...payload])
}
