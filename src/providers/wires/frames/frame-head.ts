/** Opcodes (RFC 6455, 5.2): from {@link CLOSE} on they are control frames. */
export const CONTINUATION = 0x0
export const TEXT = 0x1
export const BINARY = 0x2
export const CLOSE = 0x8
export const PONG = 0xa

/** What a frame says before its payload. */
export interface FrameHead {
  readonly final: boolean
  /** One of the bits that mean something only where an extension was agreed on. */
  readonly reserved: boolean
  readonly opcode: number
  readonly mask: Buffer | null
  readonly payloadBytes: number
}

/** Bytes of the head that begins `bytes`; `null` when it is not all there. */
export function headSize(bytes: Buffer): number | null {
  const second = bytes[1]
  if (second === undefined) return null
  const length = second & 0x7f
  const size = 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + (second & 0x80 ? 4 : 0)
  return bytes.length < size ? null : size
}

/** The head in all of its bytes, as {@link headSize} counts them. */
export function parseHead(head: Buffer): FrameHead {
  const first = head.readUInt8(0)
  const second = head.readUInt8(1)
  const shortLength = second & 0x7f
  return {
    final: (first & 0x80) !== 0,
    reserved: (first & 0x70) !== 0,
    opcode: first & 0x0f,
    mask: second & 0x80 ? Buffer.from(head.subarray(-4)) : null,
    payloadBytes:
      shortLength === 127
        ? head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6)
        : shortLength === 126
          ? head.readUInt16BE(2)
          : shortLength,
  }
}
