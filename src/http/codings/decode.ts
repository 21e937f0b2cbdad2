import type { Transform } from 'node:stream'
import { inflaterOf, type OpenInflater } from './codings.ts'

/** Decodes a copy of a compressed body for its reader. The client's bytes never wait for it. */
export interface BodyDecoder {
  /** The next bytes of the body: kept until they are decoded, and not copied. */
  push(chunk: Uint8Array): void
  /**
   * The body has ended. `done` is called once, at once where nothing is left to do. `complete`: all that the
   * bytes hold went through the sink. `unreadable`: it never will. A body that was cut counts as `complete`
   * up to the cut, which the caller knows of.
   */
  end(done: (result: DecodeResult) => void): void
  /** Releases everything. Neither the sink nor `done` is called after that. */
  destroy(): void
}

export type DecodeResult = 'complete' | 'unreadable'

/** Takes decoded bytes as they come. If it throws, the body is unreadable. */
export type DecodedSink = (decoded: Uint8Array) => void

/** More than any answer with usage has. */
const MAX_DECODED_BYTES = 64 * 1024 * 1024
/** Decoded bytes for each encoded byte: text has 5 or 10, long white space 70. What is more is decoded at a pace. */
const USUAL_RATIO = 200
/** Below this size the ratio is meaningless, and the body harmless. */
const USUAL_BYTES = 1024 * 1024
/** Thousands of answers of white space come at once, or none is meant to be read. */
const MAX_HELD_BACK_MS = 10_000
/** Encoded bytes that may wait for a decoder that is held back. */
const MAX_HELD_BACK_BYTES = 1024 * 1024
/**
 * Encoded bytes that may wait for one decoder, and for all of the process. A nearby upstream sends faster
 * than zlib's threads decode, and the client waits for neither. More bytes make the body unreadable:
 * otherwise memory would be unbounded, or the count too low without notice.
 */
const MAX_WAITING_BYTES = 8 * 1024 * 1024
const MAX_WAITING_BYTES_IN_ALL = 64 * 1024 * 1024
/** One body has no more codings than this; more are an attack. */
const MAX_CODINGS = 4

/** A chunk goes to its decoder in at most so many pieces, each of at least so many bytes. */
const MAX_PIECES = 32
const MIN_PIECE_BYTES = 256
const NO_BYTES: Uint8Array = new Uint8Array(0)

let waitingBytesInAll = 0

/** All decoders of this process together may give this beyond the usual: 64 MiB a second. */
const SLICE_MS = 10
const SLICE_BYTES = 640 * 1024
/** A decoder gives so much at a time. */
const CHUNK_BYTES = 16 * 1024

/**
 * Spreads over time what decoders give beyond the usual. A few bytes may stand for 64 MiB, and reading that at once
 * would hold up the calls of all others.
 */
export class OutputPace {
  #left = SLICE_BYTES
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>()
  #timer: NodeJS.Timeout | null = null

  /**
   * Counts bytes that a decoder gave.
   *
   * @returns Whether it may go on; else `goOn` is called once it may.
   */
  spend(bytes: number, goOn: () => void): boolean {
    this.#left -= bytes
    this.#timer ??= setInterval(() => this.#nextSlice(), SLICE_MS)
    if (this.#left > 0) return true
    this.#waiting.add(goOn)
    return false
  }

  /** Its decoder waits no longer. */
  drop(goOn: () => void): void {
    this.#waiting.delete(goOn)
  }

  #nextSlice(): void {
    this.#left = Math.min(SLICE_BYTES, this.#left + SLICE_BYTES)
    if (this.#left === SLICE_BYTES && this.#waiting.size === 0 && this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
    let promised = 0
    for (const goOn of this.#waiting) {
      if (promised >= this.#left) return
      promised += CHUNK_BYTES
      this.#waiting.delete(goOn)
      goOn()
    }
  }
}

const pace = new OutputPace()

/**
 * Opens a decoder for a body whose `content-encoding` is `codings`: gzip, x-gzip, deflate, br, zstd,
 * identity, or several of them in the order in which they were applied. Decoded bytes reach `sink` as soon as
 * the encoded ones allow. The first bytes of a body count for more than `codings`: servers and proxies name a
 * coding and send text, or another coding. An unknown coding makes a body unreadable whose first bytes are
 * unknown, too.
 */
export function createDecoder(codings: string, sink: DecodedSink): BodyDecoder {
  return new InflatingDecoder(codings, sink)
}

/** Enough of a body to recognise it: the length of gzip's header. */
const SNIFFED_BYTES = 10

/** The coding that the first bytes of an answer show; `null`: they show nothing. */
type SniffedCoding = 'gzip' | 'zstd' | 'deflate' | 'text'

/** How documents with usage begin: JSON, a list of it, or server-sent events. */
const TEXT = /^\s*(?:\{\s*(?:["}]|$)|\[\s*(?:[{\]]|$)|(?:data|event|id|retry)\s*:|:)/
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf]

/**
 * Recognises a coding by the first bytes of a body: gzip (RFC 1952), zstd (RFC 8878, also a skippable frame),
 * zlib (RFC 1950), or text. Brotli and bare deflate may begin with any byte.
 *
 * @param head the first bytes of the body: {@link SNIFFED_BYTES} of them, or all there are.
 */
function sniffCoding(head: Uint8Array): SniffedCoding | null {
  const [first = 0, second = 0, third = 0, fourth = 0] = head
  if (first === 0x1f && second === 0x8b) return isGzip(head) ? 'gzip' : null
  if (first === 0x28 && second === 0xb5 && third === 0x2f && fourth === 0xfd) return 'zstd'
  if ((first & 0xf0) === 0x50 && second === 0x2a && third === 0x4d && fourth === 0x18) return 'zstd'
  if (first === 0x78 && ((first << 8) | second) % 31 === 0) return 'deflate'
  return isText(head) ? 'text' : null
}

/** All of the header, because brotli's with its largest window begins with 1f, and then the body's length. */
function isGzip(head: Uint8Array): boolean {
  const [, , method, flags = 0xff, , , , , extra = 0xff, system = 0x80] = head
  const knowsSystem = system < 14 || system === 255
  return method === 8 && flags < 0x20 && (extra === 0 || extra === 2 || extra === 4) && knowsSystem
}

/** Tells whether a body that is declared plain may be coded, by its first byte: text begins with none of these. */
export function mayBeCoded(firstByte: number | undefined): boolean {
  return firstByte === 0x1f || firstByte === 0x28 || firstByte === 0x78
}

function isText(head: Uint8Array): boolean {
  const hasMark = BYTE_ORDER_MARK.every((byte, index) => head[index] === byte)
  const text = Buffer.from(hasMark ? head.subarray(BYTE_ORDER_MARK.length) : head).toString('latin1')
  return /^[\t\n\r -~\u0080-\u00ff]*$/.test(text) && TEXT.test(text)
}

class InflatingDecoder implements BodyDecoder {
  readonly #sink: DecodedSink
  /** In the order of decoding; `null`: unknown. */
  readonly #codings: (OpenInflater | null)[] = []
  /** The name that the header has for the first of them. */
  #outermost: string | null = null
  /** The first bytes, until there are enough to recognise them. */
  #head: Uint8Array | null = NO_BYTES
  /** The inflaters that are open, one for each coding. Each is opened with its first byte. */
  readonly #inflaters: Transform[] = []
  #state: 'open' | 'ended' | DecodeResult | 'destroyed' = 'open'
  #done: (result: DecodeResult) => void = () => {}
  #encodedBytes = 0
  #waitingBytes = 0
  /** How long the pace has held it back, and since when it does now. */
  #heldBackMs = 0
  #heldBackSinceMs: number | null = null
  readonly #goOn = () => this.#resume()

  constructor(codings: string, sink: DecodedSink) {
    this.#sink = sink
    for (const name of codings.toLowerCase().split(',')) {
      const coding = name.trim()
      if (coding === '' || coding === 'identity') continue
      this.#codings.unshift(inflaterOf(coding, 'cut') ?? null)
      this.#outermost = coding
    }
    if (this.#codings.length > MAX_CODINGS) this.#state = 'unreadable'
  }

  push(chunk: Uint8Array): void {
    if (this.#state !== 'open' || chunk.length === 0) return
    if (this.#head === null) {
      this.#decode(chunk)
      return
    }
    const head = this.#head.length === 0 ? chunk : Buffer.concat([this.#head, chunk])
    this.#head = head
    if (head.length >= SNIFFED_BYTES) this.#begin()
  }

  /** The body's first bytes decide. */
  #begin(): void {
    const head = this.#head ?? NO_BYTES
    this.#head = null
    const sniffed = sniffCoding(head.subarray(0, SNIFFED_BYTES))
    if (sniffed === 'text') this.#codings.length = 0
    else if (sniffed !== null && !isSaid(sniffed, this.#outermost)) {
      this.#codings[0] = inflaterOf(sniffed, 'cut') ?? null
    }
    if (this.#codings.includes(null)) this.#finish('unreadable')
    else if (head.length > 0) this.#decode(head)
  }

  #decode(chunk: Uint8Array): void {
    if (this.#codings.length === 0) {
      this.#give(chunk)
      return
    }
    this.#encodedBytes += chunk.length
    if (!this.#takeWaiting(chunk.length)) {
      this.#finish('unreadable')
      return
    }
    const inflater = this.#inflaters[0] ?? this.#open(0, chunk)
    // A decoder that fails gives nothing of what it was handed last: in pieces, what stands before the fault is read.
    const pieceBytes = Math.max(MIN_PIECE_BYTES, Math.ceil(chunk.length / MAX_PIECES))
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes)
      inflater.write(piece, () => this.#giveBackWaiting(piece.length))
    }
  }

  end(done: (result: DecodeResult) => void): void {
    if (this.#state === 'complete' || this.#state === 'unreadable') {
      done(this.#state)
      return
    }
    if (this.#state !== 'open') return
    this.#done = done
    if (this.#head !== null) this.#begin()
    if (this.#isOver) return
    this.#state = 'ended'
    const [first] = this.#inflaters
    if (first === undefined) this.#finish('complete')
    else first.end()
  }

  destroy(): void {
    this.#state = 'destroyed'
    this.#release()
  }

  get #isOver(): boolean {
    return this.#state !== 'open' && this.#state !== 'ended'
  }

  #open(index: number, firstChunk: Uint8Array): Transform {
    const open = this.#codings[index]
    if (open === undefined || open === null) throw new RangeError(`no coding ${index}`)
    const inflater = open(firstChunk[0] ?? 0)
    this.#inflaters.push(inflater)
    const isLast = index === this.#codings.length - 1
    let decodedBytes = 0
    inflater.on('data', (decoded: Buffer) => {
      if (this.#isOver) return
      decodedBytes += decoded.length
      if (decodedBytes > MAX_DECODED_BYTES) this.#finish('unreadable')
      else if (isLast) {
        this.#give(decoded)
        if (decodedBytes > this.#usualBytes()) this.#holdBack(decoded.length)
      } else if (this.#inflaters.length === index + 1) this.#openNext(index + 1, decoded)
    })
    inflater.on('end', () => {
      // An inflater without output leaves the next one closed, and the body empty.
      if (isLast || this.#inflaters.length === index + 1) this.#finish('complete')
    })
    inflater.on('error', () => this.#finish('unreadable'))
    return inflater
  }

  #openNext(index: number, firstChunk: Buffer): void {
    const next = this.#open(index, firstChunk)
    next.write(firstChunk)
    this.#inflaters[index - 1]?.pipe(next)
  }

  #usualBytes(): number {
    return Math.max(USUAL_BYTES, this.#encodedBytes * USUAL_RATIO)
  }

  /** Waits until it may give more. What is decoded meanwhile is a chunk or two. */
  #holdBack(bytes: number): void {
    if (this.#isOver || pace.spend(bytes, this.#goOn)) return
    this.#heldBackSinceMs = performance.now()
    this.#inflaters.at(-1)?.pause()
  }

  #resume(): void {
    if (this.#isOver || this.#heldBackSinceMs === null) return
    this.#heldBackMs += performance.now() - this.#heldBackSinceMs
    this.#heldBackSinceMs = null
    if (this.#heldBackMs > MAX_HELD_BACK_MS) this.#finish('unreadable')
    else this.#inflaters.at(-1)?.resume()
  }

  #give(decoded: Uint8Array): void {
    try {
      this.#sink(decoded)
    } catch {
      this.#finish('unreadable')
    }
  }

  #takeWaiting(bytes: number): boolean {
    const most = this.#heldBackSinceMs === null ? MAX_WAITING_BYTES : MAX_HELD_BACK_BYTES
    if (this.#waitingBytes + bytes > most) return false
    if (waitingBytesInAll + bytes > MAX_WAITING_BYTES_IN_ALL) return false
    this.#waitingBytes += bytes
    waitingBytesInAll += bytes
    return true
  }

  #giveBackWaiting(bytes: number): void {
    if (this.#isOver) return
    this.#waitingBytes -= bytes
    waitingBytesInAll -= bytes
  }

  #finish(result: DecodeResult): void {
    if (this.#isOver) return
    const done = this.#done
    this.#state = result
    this.#release()
    done(result)
  }

  #release(): void {
    waitingBytesInAll -= this.#waitingBytes
    this.#waitingBytes = 0
    this.#done = () => {}
    pace.drop(this.#goOn)
    for (const inflater of this.#inflaters) inflater.destroy()
  }
}

/** Tells whether the first bytes of a body agree with its declared coding. Brotli may begin as zlib does. */
function isSaid(sniffed: string, said: string | null): boolean {
  if (sniffed === 'gzip') return said === 'gzip' || said === 'x-gzip'
  return sniffed === said || (sniffed === 'deflate' && said === 'br')
}
