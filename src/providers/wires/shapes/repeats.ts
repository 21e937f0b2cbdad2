import type { Projection } from '../plans/json-projection.ts'
import { type EventShape, shapeOf } from './event-shape.ts'

/**
 * The verdict of the documents read so far on the next one like the last. `running`: it would replace what that one
 * reported. `nothing`: it would report as little. `no`: it has to be read.
 */
export type Standing = 'running' | 'nothing' | 'no'

/** Takes the events that were passed over. */
export interface RepeatSink {
  /** The newest of the events that repeated a `running` one: `text` has a character for each byte of its document. */
  repeated(text: string): void
  /** Asked when an event has been read on its own. */
  readonly standing: Standing
}

/** So many more events may be read in vain, each learned as a shape, than there were that had one. */
const MAX_VAIN = 8
/** Parts that happened to be the same may vary after all. */
const MAX_NARROWINGS = 6
/** Larger chunks are not doubled in memory. */
const MAX_CHUNK_BYTES = 65_536

/**
 * Passes over the events of a stream that repeat the one before but for their texts and counts. Of running counts only
 * the newest are worth reading, and not before they are asked for.
 */
export class Repeats {
  readonly #projection: Projection
  readonly #sink: RepeatSink
  readonly #areLines: boolean
  #shape: EventShape | null = null
  /** The shape as it was learned; `#shape` is narrower once it has been met again. */
  #wide: EventShape | null = null
  #learned = ''
  #narrowings = 0
  #isRunning = false
  #vain = 0
  #bytes: Buffer | null = null
  /** The chunk with a character for each byte; '' until it is wanted. */
  #text = ''
  #hasCr = false

  /**
   * @param projection what is wanted of a document
   * @param areLines each event is a line that is a document
   */
  constructor(projection: Projection, sink: RepeatSink, areLines: boolean) {
    this.#projection = projection
    this.#sink = sink
    this.#areLines = areLines
  }

  /** A chunk begins. */
  begin(chunk: Buffer): void {
    this.#bytes = chunk
    this.#text = ''
  }

  /** Position in the chunk, at or behind `from`, of the first event that has to be read. At `from` one begins. */
  pass(from: number): number {
    const shape = this.#shape
    const bytes = this.#bytes
    if (shape === null || bytes === null || bytes.length > MAX_CHUNK_BYTES) return from
    if (this.#text === '') {
      this.#text = bytes.toString('latin1')
      this.#hasCr = this.#text.includes('\r')
    }
    const text = this.#text
    if (this.#hasCr && !shape.hasCr) return from
    let at = from
    let latest = -1
    for (let end = this.#match(text, at); end >= 0; end = this.#match(text, at)) {
      latest = at
      at = end
    }
    if (latest < 0) return from
    this.#vain = 0
    if (this.#isRunning) {
      this.#sink.repeated(text.slice(latest + shape.documentStart, at - shape.charactersBehind))
    }
    return at
  }

  /** Tells whether `event`, which came in more than one chunk, repeats the one before. */
  passes(event: Buffer): boolean {
    const shape = this.#shape
    if (shape === null) return false
    const text = event.toString('latin1')
    if ((!shape.hasCr && text.includes('\r')) || this.#match(text, 0) !== text.length) return false
    this.#vain = 0
    if (this.#isRunning) {
      this.#sink.repeated(text.slice(shape.documentStart, text.length - shape.charactersBehind))
    }
    return true
  }

  #match(text: string, from: number): number {
    const end = this.#shape?.match(text, from) ?? -1
    const wide = this.#wide
    if (wide === null || (end >= 0 && wide !== this.#shape)) return end
    const wideEnd = end >= 0 ? end : wide.match(text, from)
    if (wideEnd < 0 || this.#narrowings > MAX_NARROWINGS) return wideEnd
    this.#narrowings += 1
    const isLast = this.#narrowings > MAX_NARROWINGS
    this.#shape = isLast ? wide : wide.narrowed(this.#learned, text.slice(from, wideEnd))
    return wideEnd
  }

  /** An event was read of which not all bytes are there any more: what repeats an earlier one may now say something. */
  drop(): void {
    this.#shape = null
    this.#wide = null
  }

  /** `event` was read on its own. */
  learn(event: Buffer): void {
    const { standing } = this.#sink
    this.#shape = null
    if (standing === 'no' || this.#vain >= MAX_VAIN) return
    this.#vain += 1
    this.#learned = event.toString('latin1')
    this.#wide = shapeOf(this.#learned, this.#projection, this.#areLines)
    this.#shape = this.#wide
    this.#narrowings = 0
    this.#isRunning = standing === 'running'
  }
}
