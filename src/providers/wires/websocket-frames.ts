import { asBuffer, ChunkBuffer } from './elements.ts'
import { compileProjection, JsonScanner, type Projection } from './json.ts'
import type { SessionMessage } from './scan-json.ts'

export interface FrameReaderOptions {
  /**
   * One whole text or binary message, unmasked. Borrowed: only valid during the call. Of a larger one than
   * `maxMessageBytes` it is what `projection` keeps. Absent: messages are not kept.
   */
  onMessage?(message: SessionMessage): void
  readonly maxMessageBytes?: number
  /** Absent: nothing is kept of a message that is too large. */
  readonly projection?: Projection
  /** The next bytes of a message of any length, unmasked. Borrowed. */
  onPiece?(bytes: Buffer): void
  /** A ping, whose payload an answer repeats. */
  onPing?(payload: Buffer): void
  /**
   * A message is whole, and was handed over.
   *
   * @param rest bytes that were pushed and stand behind it
   */
  onEnd?(rest: number): void
}

/** Reads WebSocket messages from a connection's bytes, cut anywhere, without taking part in it. */
export interface FrameReader {
  /** The next bytes after the handshake. Never throws. */
  push(chunk: Uint8Array): void
  /** The bytes are not frames, or the connection was closed by a frame: nothing more is read. */
  readonly finished: boolean
  /** The bytes are not frames: whatever they are, they may be anything. */
  readonly blind: boolean
  /** Bytes behind the frame that closed the connection. */
  readonly surplusBytes: number
  /** Bytes so far of the frame that closes the connection; 0: none has begun. */
  readonly closeBytes: number
  /** The bytes so far end with a frame. */
  readonly isBetween: boolean
  /** The bytes so far are whole messages and control frames. */
  readonly isBetweenMessages: boolean
}

/** Messages that carry usage repeat a response's text and what was asked; the large ones carry sound and images. */
const MAX_MESSAGE_BYTES = 1024 * 1024
const NOTHING = compileProjection({})

/** Opcodes (RFC 6455, 5.2): from {@link CLOSE} on they are control frames. */
const CONTINUATION = 0x0
const TEXT = 0x1
const BINARY = 0x2
const CLOSE = 0x8
const PING = 0x9
const PONG = 0xa

/** The head of a frame, before its payload. */
interface FrameHead {
  readonly final: boolean
  /** One of the bits that mean something only where an extension was agreed on. */
  readonly reserved: boolean
  readonly opcode: number
  readonly mask: Buffer | null
  readonly payloadBytes: number
}

/** Bytes of the head that begins `bytes`; `null` when it is not all there. */
function headSize(bytes: Buffer): number | null {
  const second = bytes[1]
  if (second === undefined) return null
  const length = second & 0x7f
  const size = 2 + (length === 127 ? 8 : length === 126 ? 2 : 0) + (second & 0x80 ? 4 : 0)
  return bytes.length < size ? null : size
}

/** The head in all of its bytes, as {@link headSize} counts them. */
function parseHead(head: Buffer): FrameHead {
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

/**
 * A frame parser (RFC 6455) that watches one direction of a connection on which no extension was agreed on. Memory:
 * one message of at most `maxMessageBytes`.
 */
export function createFrameReader(options: FrameReaderOptions): FrameReader {
  const {
    onMessage,
    maxMessageBytes = MAX_MESSAGE_BYTES,
    projection = NOTHING,
    onPiece,
    onPing,
    onEnd,
  } = options
  let pending = Buffer.alloc(0)
  let frame: FrameHead | null = null
  let headBytes = 0
  let frameRead = 0
  const chunks = new ChunkBuffer()
  const ping = new ChunkBuffer()
  let inMessage = false
  /** Reads a message that is too large to be kept; `null`: it is not. */
  let scanner: JsonScanner | null = null
  let finished = false
  let broken = false
  let surplusBytes = 0

  /** Tells whether the protocol allows a frame to begin so, here. */
  function isAllowed(head: FrameHead): boolean {
    const { opcode, payloadBytes } = head
    if (head.reserved || !Number.isSafeInteger(payloadBytes)) return false
    if (opcode >= CLOSE) return opcode <= PONG && head.final && payloadBytes <= 125
    return opcode === CONTINUATION ? inMessage : opcode <= BINARY && !inMessage
  }

  function addPayload(head: FrameHead, bytes: Buffer, isLast: boolean): void {
    const isLarge = scanner !== null || chunks.size + bytes.length > maxMessageBytes
    // The only part of a message needs no copy: it is handed over before this chunk is released.
    const keeps = onMessage !== undefined && !isLarge && !(isLast && chunks.size === 0)
    const part = keeps || head.mask !== null ? Buffer.from(bytes) : bytes
    if (head.mask !== null) unmask(part, head.mask, frameRead)
    onPiece?.(part)
    if (onMessage === undefined) return
    if (!isLarge) chunks.add(part)
    else {
      if (scanner === null) {
        scanner = new JsonScanner(projection)
        scanner.push(chunks.take())
      }
      scanner.push(part)
    }
  }

  function finishMessage(rest: number): void {
    inMessage = false
    const large = scanner
    const whole = chunks.take()
    scanner = null
    large?.end()
    onMessage?.(large === null ? whole : large.extracted)
    onEnd?.(rest)
  }

  return {
    push(chunk) {
      let bytes = asBuffer(chunk)
      while (!finished) {
        if (frame === null) {
          if (pending.length > 0) bytes = Buffer.concat([pending, bytes])
          pending = Buffer.alloc(0)
          const size = headSize(bytes)
          if (size === null) {
            pending = Buffer.from(bytes)
            return
          }
          frame = parseHead(bytes.subarray(0, size))
          headBytes = size
          frameRead = 0
          bytes = bytes.subarray(size)
          if (!isAllowed(frame)) {
            finished = true
            broken = true
            return
          }
          if (frame.opcode === TEXT || frame.opcode === BINARY) inMessage = true
        }
        const taken = bytes.subarray(0, frame.payloadBytes - frameRead)
        const isWhole = frameRead + taken.length === frame.payloadBytes
        const isControl = frame.opcode >= CLOSE
        if (!isControl) addPayload(frame, taken, isWhole && frame.final)
        else if (frame.opcode === PING && onPing !== undefined) ping.add(Buffer.from(taken))
        frameRead += taken.length
        bytes = bytes.subarray(taken.length)
        if (!isWhole) return
        if (frame.opcode === CLOSE) finished = true
        if (!isControl && frame.final) finishMessage(bytes.length)
        if (frame.opcode === PING) onPing?.(ping.take())
        frame = null
      }
      if (!broken) surplusBytes += bytes.length
    },
    get finished() {
      return finished
    },
    get blind() {
      return broken
    },
    get surplusBytes() {
      return surplusBytes
    },
    get closeBytes() {
      if (broken) return 0
      const [first] = frame === null ? pending : []
      const isClosing = finished || frame?.opcode === CLOSE
      if (isClosing) return headBytes + frameRead
      return first !== undefined && (first & 0x0f) === CLOSE ? pending.length : 0
    },
    get isBetween() {
      return frame === null && pending.length === 0
    },
    get isBetweenMessages() {
      return this.isBetween && !inMessage
    },
  }
}

/** `from`: how much of the frame came before these bytes. */
function unmask(bytes: Buffer, mask: Buffer, from: number): void {
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = (bytes[at] ?? 0) ^ (mask[(from + at) & 3] ?? 0)
}

/** Finds where the frames of one direction end, and nothing else of them. */
export interface FrameWatch {
  /** Never throws. */
  push(chunk: Uint8Array): void
  /** The sender has closed the session by a frame: what follows is not looked at. */
  readonly isClosed: boolean
  /** Bytes so far of a frame that is not whole. */
  readonly partialBytes: number
}

/** A large upload costs only the parsing of each of its heads. */
export function createFrameWatch(): FrameWatch {
  let pending = Buffer.alloc(0)
  let payloadLeft = 0
  let partialBytes = 0
  let isClosed = false
  return {
    push(chunk) {
      let bytes = asBuffer(chunk)
      while (bytes.length > 0) {
        if (payloadLeft === 0) {
          if (isClosed) return
          if (pending.length > 0) bytes = Buffer.concat([pending, bytes])
          const size = headSize(bytes)
          pending = size === null ? Buffer.from(bytes) : Buffer.alloc(0)
          partialBytes = size ?? bytes.length
          if (size === null) return
          const head = parseHead(bytes.subarray(0, size))
          isClosed = head.opcode === CLOSE
          payloadLeft = head.payloadBytes
          bytes = bytes.subarray(size)
        }
        const passed = Math.min(payloadLeft, bytes.length)
        payloadLeft -= passed
        bytes = bytes.subarray(passed)
        partialBytes = payloadLeft === 0 ? 0 : partialBytes + passed
      }
    },
    get isClosed() {
      return isClosed
    },
    get partialBytes() {
      return partialBytes
    },
  }
}
