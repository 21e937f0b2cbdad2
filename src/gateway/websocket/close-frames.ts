import { randomBytes } from 'node:crypto'

/** An unmasked close frame, as a server sends it. */
export function closeFrame(code: number): Buffer {
  return Buffer.from([0x88, 2, code >> 8, code & 0xff])
}

/** A close frame as a client sends it (RFC 6455 section 5.3). */
export function maskedCloseFrame(code: number): Buffer {
  const mask = randomBytes(4)
  const payload = [(code >> 8) ^ (mask[0] ?? 0), (code & 0xff) ^ (mask[1] ?? 0)]
  return Buffer.from([0x88, 0x82, ...mask, ...payload])
}
