/** Takes the data of one long event. */
export interface LongEventSink {
  push(chunk: Buffer): void
  end(isError: boolean): void
}

const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const LINE_FEED = Buffer.from('\n')
const BYTE_ORDER_MARK = Buffer.from('\ufeff')
const DATA_FIELD = Buffer.from('data:')
const EVENT_FIELD = Buffer.from('event:')
const ERROR_EVENT = /^event: ?error$/
/** Enough of a line to distinguish `event: error` from any other event. */
const LINE_START_BYTES = 16

/** Takes one event's bytes apart into the fields that matter: `data` and `event`. */
export function readEvent(event: Buffer): { readonly data: Buffer | null; readonly isError: boolean } {
  const hasCr = event.includes(CR)
  const lines: Buffer[] = []
  let isError = false
  let at = startsWith(event, 0, event.length, BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0
  while (at < event.length) {
    const end = endOfLine(event, at, hasCr)
    if (startsWith(event, at, end, DATA_FIELD)) {
      const value = at + DATA_FIELD.length
      lines.push(event.subarray(event[value] === SPACE ? value + 1 : value, end))
    } else if (startsWith(event, at, end, EVENT_FIELD)) {
      isError = ERROR_EVENT.test(event.toString('latin1', at, Math.min(end, at + LINE_START_BYTES)))
    }
    at = end + 1
  }
  const [first] = lines
  if (first === undefined) return { data: null, isError }
  if (lines.length === 1) return { data: first, isError }
  return {
    data: Buffer.concat(lines.flatMap((line, index) => (index === 0 ? line : [LINE_FEED, line]))),
    isError,
  }
}

function endOfLine(bytes: Buffer, from: number, hasCr: boolean): number {
  const lf = bytes.indexOf(LF, from)
  const lineEnd = lf === -1 ? bytes.length : lf
  if (!hasCr) return lineEnd
  // The CR of a CRLF stands right before; one that ends a line alone is looked for up to there only.
  if (lineEnd > from && bytes[lineEnd - 1] === CR) return bytes.indexOf(CR, from)
  let at = from
  while (at < lineEnd && bytes[at] !== CR) at += 1
  return at
}

function startsWith(bytes: Buffer, at: number, end: number, word: Buffer): boolean {
  if (end - at < word.length) return false
  for (let index = 0; index < word.length; index += 1) if (bytes[at + index] !== word[index]) return false
  return true
}

/** Passes on the data of one event that is too long to be held, line by line as it comes. */
export class LongEvent {
  readonly #sink: LongEventSink
  /** The line's first bytes until its field is known; `null` then. */
  #lineStart: string | null = ''
  #isData = false
  #isError = false

  constructor(sink: LongEventSink) {
    this.#sink = sink
  }

  push(bytes: Buffer): void {
    const hasCr = bytes.includes(CR)
    let at = 0
    while (at < bytes.length) {
      if (this.#lineStart === null) {
        const end = endOfLine(bytes, at, hasCr)
        if (this.#isData && end > at) this.#sink.push(bytes.subarray(at, end))
        if (end < bytes.length) this.#lineStart = ''
        at = end + 1
      } else {
        this.#lineStart = this.#takeLineStart(this.#lineStart, bytes[at] ?? LF)
        at += 1
      }
    }
  }

  end(): void {
    if (this.#lineStart !== null) this.#endShortLine(this.#lineStart)
    this.#sink.end(this.#isError)
  }

  #takeLineStart(line: string, byte: number): string | null {
    if (byte === LF || byte === CR) {
      this.#endShortLine(line)
      return ''
    }
    const longer = line + String.fromCharCode(byte)
    if (longer === '\u00ef\u00bb\u00bf') return ''
    this.#isData = longer === 'data:'
    return this.#isData || longer.length === LINE_START_BYTES ? null : longer
  }

  #endShortLine(line: string): void {
    if (ERROR_EVENT.test(line)) this.#isError = true
  }
}
