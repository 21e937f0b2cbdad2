import { crc32 } from 'node:zlib'
import { asBuffer, ChunkBuffer } from './elements.ts'

/** One message of an AWS event stream. */
export interface EventMessage {
  /** `:message-type`: `event`, `exception` (named by the service's model) or `error` (any other). */
  readonly messageType: string
  /** `:event-type`, or `:exception-type` or `:error-code` for the other two; '' when missing. */
  readonly eventType: string
  /** Borrowed: only valid while the message is handed over. */
  readonly payload: Buffer
}

/** Reads messages of `application/vnd.amazon.eventstream` from bytes cut anywhere. */
export interface EventStreamReader {
  push(chunk: Uint8Array): void
  /** A checksum or a length was wrong: nothing after it can be trusted, and nothing more is read. */
  readonly corrupt: boolean
  /** Messages passed over because they were too large to be collected. */
  readonly skipped: number
}

/** Total length, length of the headers, checksum of these two. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
/** The format's own limits: 24 MiB of payload, 128 KiB of headers. A greater length is damage. */
const MAX_MESSAGE_BYTES = (24 * 1024 + 128) * 1024 + PRELUDE_BYTES + CHECKSUM_BYTES
/** Messages with usage have a few hundred bytes, or some tens of KB with a guardrail's trace beside it. */
const MAX_COLLECTED_BYTES = 256 * 1024
/** Headers have a hundred bytes or so: longer ones are not kept. */
const MAX_KEPT_BYTES = 1024

/**
 * Splits an AWS event stream into its messages and checks both checksums of each.
 * Format: https://smithy.io/2.0/aws/amazon-eventstream.html
 * @param maxCollectedBytes larger messages are passed over; for tests
 */
export function createEventStreamReader(
  onMessage: (message: EventMessage) => void,
  maxCollectedBytes: number = MAX_COLLECTED_BYTES,
): EventStreamReader {
  const held = new ChunkBuffer()
  /** As many bytes must be there before there is anything new to read. */
  let neededBytes = PRELUDE_BYTES
  let toSkip = 0
  let corrupt = false
  let skipped = 0
  /** The headers of the message before, and what they say: those of a stream's deltas are all alike. */
  let known: Buffer = Buffer.alloc(0)
  let kinds: MessageKinds = NO_KINDS

  function kindsOf(message: Buffer, headersEnd: number): MessageKinds {
    if (headersEnd > MAX_KEPT_BYTES) return readKinds(message.subarray(PRELUDE_BYTES, headersEnd))
    if (known.compare(message, PRELUDE_BYTES, headersEnd) !== 0) {
      known = Buffer.from(message.subarray(PRELUDE_BYTES, headersEnd))
      kinds = readKinds(known)
    }
    return kinds
  }

  /** Length of the message that begins `bytes`; 0 when its prelude is not all there, -1 when it is not a prelude. */
  function messageLength(bytes: Buffer): number {
    if (bytes.length < PRELUDE_BYTES) return 0
    const total = bytes.readUInt32BE(0)
    const headers = bytes.readUInt32BE(4)
    const fits = total <= MAX_MESSAGE_BYTES && headers + PRELUDE_BYTES + CHECKSUM_BYTES <= total
    return fits && crc32(bytes.subarray(0, 8)) === bytes.readUInt32BE(8) ? total : -1
  }

  /** Reads every whole message of `bytes`; gives what is left over. */
  function readMessages(bytes: Buffer): Buffer {
    let rest = bytes
    while (true) {
      if (toSkip > 0) {
        const passed = Math.min(toSkip, rest.length)
        toSkip -= passed
        rest = rest.subarray(passed)
      }
      const length = messageLength(rest)
      if (length === 0) {
        neededBytes = PRELUDE_BYTES
        return rest
      }
      if (length === -1) {
        corrupt = true
        return rest.subarray(rest.length)
      }
      if (length > maxCollectedBytes) {
        skipped += 1
        toSkip = length
        continue
      }
      if (rest.length < length) {
        neededBytes = length
        return rest
      }
      const message = rest.subarray(0, length)
      if (
        crc32(message.subarray(0, length - CHECKSUM_BYTES)) !== message.readUInt32BE(length - CHECKSUM_BYTES)
      ) {
        corrupt = true
        return rest.subarray(rest.length)
      }
      const headersEnd = PRELUDE_BYTES + message.readUInt32BE(4)
      const payload = message.subarray(headersEnd, length - CHECKSUM_BYTES)
      onMessage({ ...kindsOf(message, headersEnd), payload })
      rest = rest.subarray(length)
    }
  }

  return {
    push(chunk) {
      if (corrupt) return
      const bytes = asBuffer(chunk)
      if (held.size + bytes.length < neededBytes) {
        held.add(Buffer.from(bytes))
        return
      }
      let all = bytes
      if (held.size > 0) {
        held.add(bytes)
        all = held.take()
      }
      const rest = readMessages(all)
      if (rest.length > 0) held.add(Buffer.from(rest))
    },
    get corrupt() {
      return corrupt
    },
    get skipped() {
      return skipped
    },
  }
}

/** Bytes of the value of a header, by its type, where that is fixed. */
const FIXED_VALUE_BYTES: Readonly<Record<number, number>> = {
  0: 0,
  1: 0,
  2: 1,
  3: 2,
  4: 4,
  5: 8,
  8: 8,
  9: 16,
}
const TYPE_BYTES = 6
const TYPE_STRING = 7

type MessageKinds = Pick<EventMessage, 'messageType' | 'eventType'>

/** A message without headers is of these kinds. */
const NO_KINDS: MessageKinds = { messageType: 'event', eventType: '' }

/** Headers of a message whose checksums were right. Those that make no sense end their list. */
function readKinds(headers: Buffer): MessageKinds {
  const text = new Map<string, string>()
  let at = 0
  while (at < headers.length) {
    const nameEnd = at + 1 + headers.readUInt8(at)
    if (nameEnd + 1 > headers.length) break
    const type = headers.readUInt8(nameEnd)
    let valueStart = nameEnd + 1
    let valueBytes = FIXED_VALUE_BYTES[type]
    if (type === TYPE_BYTES || type === TYPE_STRING) {
      if (valueStart + 2 > headers.length) break
      valueBytes = headers.readUInt16BE(valueStart)
      valueStart += 2
    }
    if (valueBytes === undefined || valueStart + valueBytes > headers.length) break
    if (type === TYPE_STRING) {
      text.set(
        headers.toString('latin1', at + 1, nameEnd),
        headers.toString('utf8', valueStart, valueStart + valueBytes),
      )
    }
    at = valueStart + valueBytes
  }
  return {
    messageType: text.get(':message-type') ?? 'event',
    eventType: text.get(':event-type') ?? text.get(':exception-type') ?? text.get(':error-code') ?? '',
  }
}
