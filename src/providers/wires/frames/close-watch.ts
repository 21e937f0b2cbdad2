import { asBuffer } from '../elements.ts'
import { CLOSE, headSize, parseHead } from './frame-head.ts'

/**
 * Watches the frames of one direction for a close frame and reads nothing else, so that a large upload costs only the
 * parsing of each of its heads. Gives whether the sender has closed the session. Never throws.
 */
export function createCloseWatch(): (chunk: Uint8Array) => boolean {
  let pending = Buffer.alloc(0)
  let payloadLeft = 0
  let closed = false
  return (chunk) => {
    let bytes = asBuffer(chunk)
    while (!closed && bytes.length > 0) {
      const passed = Math.min(payloadLeft, bytes.length)
      payloadLeft -= passed
      bytes = bytes.subarray(passed)
      if (bytes.length === 0) break
      if (pending.length > 0) bytes = Buffer.concat([pending, bytes])
      const size = headSize(bytes)
      pending = size === null ? Buffer.from(bytes) : Buffer.alloc(0)
      if (size === null) break
      const head = parseHead(bytes.subarray(0, size))
      closed = head.opcode === CLOSE
      payloadLeft = head.payloadBytes
      bytes = bytes.subarray(size)
    }
    return closed
  }
}
