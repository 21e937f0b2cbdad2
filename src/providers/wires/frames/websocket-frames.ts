import { inflateRawSync, constants as zlib } from 'node:zlib'
import { ChunkBuffer } from '../chunk-buffer.ts'
import { asBuffer } from '../elements.ts'
import { findMembers, mayContainUsage } from '../prefilter.ts'
import { BINARY, CLOSE, CONTINUATION, type FrameHead, headSize, PONG, parseHead, TEXT } from './frame-head.ts'

/** What both ends agreed on in the handshake, as far as it concerns bytes from the server. */
export interface FrameReaderOptions {
  /** `permessage-deflate` is in the response's `sec-websocket-extensions`. */
  readonly deflate: boolean
  /** Its `server_no_context_takeover`: each message is compressed by itself. */
  readonly serverNoContextTakeover: boolean
  /** One whole text or binary message, decompressed. Borrowed: only valid during the call. */
  onMessage(bytes: Uint8Array): void
  /** Larger messages are passed over. */
  readonly maxMessageBytes?: number
}

/** Reads WebSocket messages from a connection's bytes, cut anywhere, without taking part in it. */
export interface FrameReader {
  /** The next bytes after the handshake. Never throws. */
  push(chunk: Uint8Array): void
  /** Messages passed over: too large, or compressed so that they cannot be read. */
  readonly skipped: number
  /** The bytes are not frames, or the connection was closed by a frame: nothing more is read. */
  readonly finished: boolean
  /** Messages pass that cannot be read: what was not read may be anything. */
  readonly blind: boolean
}

/** Messages that carry usage repeat a response's text at most; the large ones carry sound and images. */
const MAX_MESSAGE_BYTES = 1024 * 1024
/** A compressed message may be this many times larger than others: its text is wanted for the window after it. */
const INFLATED_FACTOR = 16
/** What makes a message that was passed over a loss. */
const FIGURES = findMembers(['usage', 'usageMetadata'])
/** Kept of each piece of it, as a word may be cut. */
const WORD_BYTES = 32
/** As far back as a compressed message may point. */
const WINDOW_BYTES = 32 * 1024
/** What the sender took off the end of a compressed message (RFC 7692 section 7.2.2). */
const DEFLATE_TAIL = Buffer.from([0x00, 0x00, 0xff, 0xff])

/**
 * A frame parser (RFC 6455) with permessage-deflate (RFC 7692) that watches one direction of a connection.
 * Memory: one message of at most `maxMessageBytes` (decompressed, 16 times that), and a window of 32 KiB where
 * compression goes on from message to message. There, once a message could not be decompressed, none of the later
 * ones can: all count as skipped.
 */
export function createFrameReader(options: FrameReaderOptions): FrameReader {
  const { deflate, serverNoContextTakeover, onMessage, maxMessageBytes = MAX_MESSAGE_BYTES } = options
  let pending = Buffer.alloc(0)
  let frame: FrameHead | null = null
  let frameRead = 0
  const chunks = new ChunkBuffer()
  let messageBytes = 0
  let inMessage = false
  let compressed = false
  let tooLarge = false
  let window = Buffer.alloc(0)
  let windowLost = false
  let passedTail: Buffer = Buffer.alloc(0)
  let lostFigures = false
  let skipped = 0
  let finished = false
  let broken = false

  /** Whether the protocol allows a frame to begin so, here. */
  function isAllowed(head: FrameHead): boolean {
    const { opcode, payloadBytes } = head
    if (head.reservedOther || !Number.isSafeInteger(payloadBytes)) return false
    if (opcode >= CLOSE) return opcode <= PONG && head.final && payloadBytes <= 125 && !head.reserved1
    if (opcode === CONTINUATION) return inMessage && !head.reserved1
    return opcode <= BINARY && !inMessage && (deflate || !head.reserved1)
  }

  function startMessage(head: FrameHead): void {
    inMessage = true
    compressed = head.reserved1
    tooLarge = false
    messageBytes = 0
    chunks.clear()
  }

  function addPayload(head: FrameHead, bytes: Buffer, isLast: boolean): void {
    messageBytes += bytes.length
    if (tooLarge || messageBytes > maxMessageBytes) {
      if (!tooLarge) passedTail = chunks.take()
      tooLarge = true
      passOver(bytes)
      return
    }
    // The only part of a message needs no copy: it is handed over before this chunk is released.
    const keeps = !(isLast && chunks.size === 0 && head.mask === null)
    const part = keeps ? Buffer.from(bytes) : bytes
    if (head.mask !== null) {
      for (let i = 0; i < part.length; i += 1) {
        part[i] = part.readUInt8(i) ^ head.mask.readUInt8((frameRead + i) & 3)
      }
    }
    chunks.add(part)
  }

  /** Figures in a message that is not read are looked for, so that it is known that they are missing. */
  function passOver(bytes: Buffer): void {
    if (lostFigures) return
    const text = passedTail.length === 0 ? bytes : Buffer.concat([passedTail, bytes])
    lostFigures = compressed || mayContainUsage(FIGURES, text)
    passedTail = Buffer.from(text.subarray(-WORD_BYTES))
  }

  function finishMessage(): void {
    inMessage = false
    passedTail = Buffer.alloc(0)
    const whole = chunks.take()
    const bytes = tooLarge ? null : compressed ? inflate(whole) : whole
    if (bytes === null) {
      skipped += 1
      if (compressed && !serverNoContextTakeover) windowLost = true
      return
    }
    onMessage(bytes)
  }

  /** The message behind `bytes`; `null` when it cannot be had within bounds. */
  function inflate(bytes: Buffer): Buffer | null {
    if (windowLost) return null
    const dictionary = window.length > 0 ? { dictionary: window } : {}
    try {
      const message = inflateRawSync(Buffer.concat([bytes, DEFLATE_TAIL]), {
        ...dictionary,
        finishFlush: zlib.Z_SYNC_FLUSH,
        maxOutputLength: maxMessageBytes * INFLATED_FACTOR,
      })
      if (!serverNoContextTakeover) {
        window = Buffer.from(Buffer.concat([window, message]).subarray(-WINDOW_BYTES))
      }
      return message
    } catch {
      return null
    }
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
          frameRead = 0
          bytes = bytes.subarray(size)
          if (!isAllowed(frame)) {
            finished = true
            broken = true
            return
          }
          if (frame.opcode === TEXT || frame.opcode === BINARY) startMessage(frame)
        }
        const taken = bytes.subarray(0, frame.payloadBytes - frameRead)
        const isWhole = frameRead + taken.length === frame.payloadBytes
        const isControl = frame.opcode >= CLOSE
        if (!isControl) addPayload(frame, taken, isWhole && frame.final)
        frameRead += taken.length
        bytes = bytes.subarray(taken.length)
        if (!isWhole) return
        if (frame.opcode === CLOSE) finished = true
        if (!isControl && frame.final) finishMessage()
        frame = null
      }
    },
    get skipped() {
      return skipped
    },
    get finished() {
      return finished
    },
    get blind() {
      return broken || windowLost || lostFigures
    },
  }
}
