/** Finds the next of the words in `bytes` at or after `from`; -1: none. */
type FindLiteral = (bytes: Buffer, from: number) => number

/** The words by which an event shows that it may report something; one without any is not parsed. */
export type Prefilter = readonly FindLiteral[]

const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20
const LOWER_N = 0x6e
const LOWER_E = 0x65
const REST_OF_ERROR = Buffer.from('rror')
const ERROR_BYTES = REST_OF_ERROR.length + 1
const EVENT_FIELD = 'event:'

/**
 * Finds JSON members by name in bytes that were not parsed: `"usage"` and the like, with their quotes; also strings
 * that are just that word, as in `"type":"error"`. A member whose value is `null` says nothing and is passed
 * over. Inside a longer JSON string the quotes would be escaped, so text about usage is not taken for it.
 * A member of that name elsewhere in the document is, and costs a scan that finds nothing. The name `error` also finds
 * events of that name, whose data need not say so again.
 */
export function findMembers(names: readonly string[]): Prefilter {
  return names.map((name) => (name === 'error' ? findError : findMember(name)))
}

/** Tells whether any of the words stands in `bytes`. */
export function mayContainUsage(prefilter: Prefilter, bytes: Buffer): boolean {
  return prefilter.some((findLiteral) => findLiteral(bytes, 0) !== -1)
}

/** Finds the words of one chunk in passing: each word is searched for once, however many events pass. */
export class PrefilterSearch {
  readonly #prefilter: Prefilter
  readonly #next: number[]
  #bytes: Buffer = Buffer.alloc(0)

  constructor(prefilter: Prefilter) {
    this.#prefilter = prefilter
    this.#next = prefilter.map(() => -1)
  }

  /** A chunk begins: earlier places count no more. */
  begin(bytes: Buffer): void {
    this.#bytes = bytes
    this.#next.fill(NOT_SEARCHED)
  }

  /** Tells whether a word begins from `start` to `end`; `start` never gets smaller within a chunk. */
  isWithin(start: number, end: number): boolean {
    const word = this.next(start)
    return word !== -1 && word < end
  }

  /** Position of the first word at or behind `start`, which never gets smaller within a chunk; -1: there is none. */
  next(start: number): number {
    const next = this.#next
    let first = -1
    for (let literal = 0; literal < next.length; literal += 1) {
      let at = next[literal] ?? -1
      if (at !== -1 && at < start) {
        at = this.#prefilter[literal]?.(this.#bytes, start) ?? -1
        next[literal] = at
      }
      if (at !== -1 && (first === -1 || at < first)) first = at
    }
    return first
  }
}

/** Below every place in a chunk, and not -1, which says that there is none. */
const NOT_SEARCHED = -2

/**
 * The native search runs along the first byte of what it seeks, so it is given none that JSON is full of: without
 * the leading quote it takes a third of the time.
 */
function findMember(name: string): FindLiteral {
  const literal = Buffer.from(`${name}"`)
  return (bytes, from) => {
    let at = bytes.indexOf(literal, from)
    while (at !== -1 && (bytes[at - 1] !== QUOTE || isNull(bytes, at + literal.length))) {
      at = bytes.indexOf(literal, at + literal.length)
    }
    return at
  }
}

/** As {@link findMember}; `e` is frequent as well, so that the search is for the rest of the word. */
function findError(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(REST_OF_ERROR, from)
  while (at !== -1 && !isErrorMember(bytes, at - 1) && !isErrorEvent(bytes, at - 1)) {
    at = bytes.indexOf(REST_OF_ERROR, at + REST_OF_ERROR.length)
  }
  return at
}

function isErrorMember(bytes: Buffer, at: number): boolean {
  const end = at + ERROR_BYTES
  const isQuoted = bytes[at - 1] === QUOTE && bytes[at] === LOWER_E && bytes[end] === QUOTE
  return isQuoted && !isNull(bytes, end + 1)
}

function isErrorEvent(bytes: Buffer, at: number): boolean {
  const end = bytes[at - 1] === SPACE ? at - 1 : at
  return (
    bytes[end - 1] === COLON &&
    bytes.toString('latin1', Math.max(0, end - EVENT_FIELD.length), end) === EVENT_FIELD
  )
}

/** Tells whether the member whose name ends at `at` is `null`. */
function isNull(bytes: Buffer, at: number): boolean {
  const colon = afterSpaces(bytes, at)
  return bytes[colon] === COLON && bytes[afterSpaces(bytes, colon + 1)] === LOWER_N
}

function afterSpaces(bytes: Buffer, from: number): number {
  let at = from
  while (isSpace(bytes[at])) at += 1
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09
}
