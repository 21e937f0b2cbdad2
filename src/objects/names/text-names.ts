// JSON texts one behind the other, as their bytes come: the lines of a batch's file, the events of a stream.
import { OPEN_BRACE } from '../../providers/wires/json-bytes.ts'
import { isWide, NameCollector } from './body-names.ts'
import { type NameWalk, namedPaths } from './name-paths.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** The state of the reading of a file. `other`: it is not JSON. */
type State = 'start' | 'between' | 'document' | 'broken' | 'other'

/**
 * Reads JSON texts as their bytes come, and keeps of them only ids. Whatever separates the texts, each that begins
 * is read: servers differ in what ends a line. A text with a fault is passed over from there to the line's end.
 */
export class TextNames {
  readonly #names: NameCollector
  readonly #isLines: boolean
  #state: State = 'start'
  #isUnreadable = false

  /**
   * @param walk where each text names what is wanted.
   * @param isLines a text that goes on behind a line's end is a broken one.
   */
  constructor(walk: NameWalk, isLines: boolean) {
    this.#isLines = isLines
    this.#names = new NameCollector(walk)
  }

  /** It is JSON in an encoding other than UTF-8. */
  get isUnreadable(): boolean {
    return this.#isUnreadable
  }

  /** The ids since this was asked last. */
  takeIds(): readonly string[] {
    return this.#names.takeIds()
  }

  /** Another file begins. @param mayBeAnything texts may stand behind what is none, as headers of parts. */
  begin(mayBeAnything: boolean): void {
    this.#state = mayBeAnything ? 'between' : 'start'
  }

  push(chunk: Buffer): void {
    let at = this.#state === 'start' ? this.#begin(chunk) : 0
    while (at < chunk.length && this.#state !== 'other') {
      if (this.#state === 'between') {
        at = chunk.indexOf(OPEN_BRACE, at)
        if (at === -1) return
        this.#names.restart()
        this.#state = 'document'
      } else if (this.#state === 'document') {
        at = this.#read(chunk, at)
      } else {
        at = lineEnd(chunk, at)
        if (at < chunk.length) this.#state = 'between'
      }
    }
  }

  /** Goes to where the first text begins. */
  #begin(chunk: Buffer): number {
    const first = chunk.findIndex((byte) => byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf)
    if (isWide(chunk)) this.#isUnreadable = true
    if (first === -1) return chunk.length
    this.#state = chunk[first] === OPEN_BRACE ? 'between' : 'other'
    return first
  }

  #read(chunk: Buffer, from: number): number {
    const feed = this.#isLines ? chunk.indexOf(LINE_FEED, from) : -1
    const end = feed === -1 ? chunk.length : feed
    const read = from + this.#names.push(chunk.subarray(from, end))
    if (this.#names.isDone) {
      this.#state = 'between'
      return read
    }
    if (this.#names.isMalformed) this.#state = 'broken'
    else if (feed !== -1) this.#state = 'between'
    return end
  }
}

function lineEnd(chunk: Buffer, from: number): number {
  const feed = chunk.indexOf(LINE_FEED, from)
  const end = feed === -1 ? chunk.length : feed
  const back = chunk.subarray(from, end).indexOf(CARRIAGE_RETURN)
  return back === -1 ? end : from + back
}

/** A longer value is not an id. */
const MAX_FIELD_BYTES = 16_384

/** The ids in the fields of one form. */
export class FormNames {
  readonly #names: NameCollector

  constructor(canonicalPath: string) {
    this.#names = new NameCollector(namedPaths(canonicalPath).walk)
  }

  static readonly maxFieldBytes = MAX_FIELD_BYTES

  takeIds(): readonly string[] {
    return this.#names.takeIds()
  }

  get readsWholeAccount(): boolean {
    return this.#names.found.readsWholeAccount
  }

  field(name: string, value: string): void {
    this.#names.takeField(name, value)
  }
}
