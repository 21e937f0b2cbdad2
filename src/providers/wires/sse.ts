import { asBuffer } from './elements.ts'
import { mayContainUsage, type Prefilter, PrefilterSearch } from './prefilter.ts'
import type { Repeats } from './shapes/repeats.ts'
import { LongEvent, type LongEventSink, readEvent } from './sse-event.ts'

/** The receiver of the events of a stream. */
export interface SseSink {
  /** Tells whether events that the prefilter passes over are wanted too, for now: before the model's name is known. */
  readonly wantsEvery: boolean
  /**
   * One event's data, its lines joined by line feeds; valid only during the call. `isError`: its `event` field
   * is `error`.
   */
  event(data: Buffer, isError: boolean): void
  /** An event too long to be held begins; its data comes in pieces, joined as above but for the line feeds. */
  openLong(): LongEventSink
}

/** An unfinished event is held up to here; beyond, its data is passed on piece by piece. */
export const MAX_HELD_EVENT_BYTES = 65_536

const LF = 0x0a
const CR = 0x0d
const BLANK_LINE = Buffer.from('\n\n')
const MAX_PIECES = 64
/** With fewer bytes, which are an event or two, a search for the end is as cheap. */
const MIN_SKIPPED_BYTES = 1024

/**
 * Splits a `text/event-stream` body into events, on bytes, as the WHATWG HTML standard (9.2.6) has it: lines
 * end in LF, CRLF or CR, a blank line ends an event, a field's value may follow its colon without a space,
 * several `data` lines are one text, lines that begin with a colon are comments, a leading byte order mark is
 * dropped. Unlike the standard it hands out the last event also when no blank line follows, as many servers
 * end so.
 *
 * Cheap by construction: an event is taken apart only if the prefilter finds a word in it or the sink wants every one.
 */
export class SseSplitter {
  readonly #sink: SseSink
  readonly #prefilter: Prefilter
  readonly #search: PrefilterSearch
  readonly #repeats: Repeats | null
  /** The unfinished event's bytes from earlier chunks. */
  #held: Buffer[] = []
  #heldBytes = 0
  /** Nothing of the current line has been seen. */
  #atLineStart = true
  /** The last byte was a CR: a LF that follows belongs to it. */
  #afterCr = false
  #long: LongEvent | null = null
  #hasNoUsage = false

  /** @param repeats events that need not be read, where the format has such */
  constructor(sink: SseSink, prefilter: Prefilter, repeats: Repeats | null = null) {
    this.#sink = sink
    this.#repeats = repeats
    this.#prefilter = prefilter
    this.#search = new PrefilterSearch(prefilter)
  }

  push(chunk: Uint8Array): void {
    if (chunk.length === 0) return
    const bytes = asBuffer(chunk)
    this.#hasNoUsage = false
    this.#repeats?.begin(bytes)
    const start = this.#heldBytes === 0 && this.#long === null && this.#atLineStart ? this.#pass(0) : 0
    if (start > 0) this.#afterCr = false
    if (start === bytes.length) return
    this.#search.begin(bytes)
    if (this.#containsNoUsage(bytes, start)) {
      this.#hasNoUsage = start === 0
      this.#atLineStart = true
      this.#afterCr = bytes[bytes.length - 1] === CR
      return
    }
    // Without a CR every event ends in two LFs, which one native search finds.
    const hasCr = this.#afterCr || bytes.includes(CR, start)
    const rest = hasCr ? this.#splitAnyLines(bytes, start) : this.#splitLfLines(bytes, start)
    if (rest < bytes.length) this.#hold(bytes.subarray(rest))
  }

  /** The body ended: what is left is the last event. */
  end(): void {
    this.#finishEvent(Buffer.alloc(0), 0, 0)
  }

  /** Tells whether the last chunk was whole events without any word: nothing of it has been looked at. */
  get hasNoUsage(): boolean {
    return this.#hasNoUsage
  }

  /** Bytes held of an unfinished event. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Position of the first event, at or behind `start`, that has to be read. */
  #pass(start: number): number {
    return this.#repeats === null ? start : this.#repeats.pass(start)
  }

  /** Tells whether `bytes` are whole events of which none is worth being found: so most chunks are done with. */
  #containsNoUsage(bytes: Buffer, start: number): boolean {
    if (this.#heldBytes > 0 || this.#long !== null || this.#sink.wantsEvery) return false
    return endsInBlankLine(bytes) && !this.#search.isWithin(start, bytes.length)
  }

  /** Takes the events that end in `bytes`; gives where the unfinished one begins. */
  #splitLfLines(bytes: Buffer, from: number): number {
    const last = bytes.length - 1
    let start = from
    if (start === 0 && this.#atLineStart && bytes[0] === LF) {
      this.#finishEvent(bytes, 0, 1)
      start = 1
    }
    while (start <= last) {
      start = this.#skip(bytes, start)
      const blank = bytes.indexOf(BLANK_LINE, start)
      if (blank === -1) break
      this.#finishEvent(bytes, start, blank + 2)
      start = this.#pass(blank + 2)
    }
    this.#atLineStart = bytes[last] === LF
    return start
  }

  /** Passes over events without a word, by one search for where the one with the next word begins. */
  #skip(bytes: Buffer, start: number): number {
    if (this.#heldBytes > 0 || this.#long !== null || this.#sink.wantsEvery) return start
    const word = this.#search.next(start)
    if (word !== -1 && word - start < MIN_SKIPPED_BYTES) return start
    const blank = bytes.lastIndexOf(BLANK_LINE, word === -1 ? bytes.length : word)
    return blank < start ? start : blank + BLANK_LINE.length
  }

  /** As `#splitLfLines`, for lines that end in any of the three ways. */
  #splitAnyLines(bytes: Buffer, from: number): number {
    let start = from
    let lf = -1
    let cr = -1
    for (let at = from; at < bytes.length; at += 1) {
      const byte = bytes[at]
      if (byte !== LF && byte !== CR) {
        this.#afterCr = false
        this.#atLineStart = false
        // On to the line's end, by native searches: one for each line end that there is.
        if (lf < at) lf = indexOrEnd(bytes, LF, at)
        if (cr < at) cr = indexOrEnd(bytes, CR, at)
        at = Math.min(lf, cr) - 1
        continue
      }
      if (byte === LF && this.#afterCr) {
        this.#afterCr = false
        continue
      }
      const isCrLf = byte === CR && bytes[at + 1] === LF
      if (isCrLf) at += 1
      this.#afterCr = byte === CR && !isCrLf
      if (this.#atLineStart) {
        this.#finishEvent(bytes, start, at + 1)
        start = this.#pass(at + 1)
        at = start - 1
      }
      this.#atLineStart = true
    }
    return start
  }

  /** An event ends: the held bytes and `bytes` from `start` to `end`. */
  #finishEvent(bytes: Buffer, start: number, end: number): void {
    if (this.#long !== null) {
      this.#long.push(bytes.subarray(start, end))
      this.#long.end()
      this.#long = null
      this.#repeats?.drop()
    } else if (this.#heldBytes > 0) {
      this.#held.push(bytes.subarray(start, end))
      const event = Buffer.concat(this.#held)
      this.#held = []
      this.#heldBytes = 0
      if (this.#repeats?.passes(event) === true) return
      if (this.#sink.wantsEvery || mayContainUsage(this.#prefilter, event)) this.#give(event)
    } else if (this.#sink.wantsEvery || this.#search.isWithin(start, end)) {
      this.#give(bytes.subarray(start, end))
    }
  }

  #hold(rest: Buffer): void {
    if (this.#long !== null) {
      this.#long.push(rest)
      return
    }
    if (this.#heldBytes + rest.length <= MAX_HELD_EVENT_BYTES) {
      // Borrowed bytes: what outlives this chunk is copied.
      this.#held.push(Buffer.from(rest))
      this.#heldBytes += rest.length
      if (this.#held.length === MAX_PIECES) this.#held = [Buffer.concat(this.#held)]
      return
    }
    this.#long = new LongEvent(this.#sink.openLong())
    for (const chunk of this.#held) this.#long.push(chunk)
    this.#long.push(rest)
    this.#held = []
    this.#heldBytes = 0
  }

  #give(event: Buffer): void {
    const { data, isError } = readEvent(event)
    if (data === null) return
    this.#sink.event(data, isError)
    this.#repeats?.learn(event)
  }
}

function endsInBlankLine(bytes: Buffer): boolean {
  const last = bytes[bytes.length - 1]
  const before = bytes[bytes.length - 2]
  if (last !== LF || before !== CR) return (last === LF || last === CR) && last === before
  const third = bytes[bytes.length - 3]
  return third === LF || third === CR
}

function indexOrEnd(bytes: Buffer, byte: number, from: number): number {
  const found = bytes.indexOf(byte, from)
  return found === -1 ? bytes.length : found
}
