import type { AnswerHeaders } from '#http-client/answer-handler.ts'
import type { RetryCause } from '../../../config/yaml/routes.ts'
import { isObject, parsedJson } from '../../../domain/json.ts'
import { decodedStart, isDecodable } from '../../../http/codings/decoded-start.ts'
import { createEventStreamReader } from '../../../providers/wires/eventstream.ts'

/**
 * What the start of an answer says: `null`, nothing yet; `fine`, it is not an error, or one that another target would give
 * too.
 */
export type StartVerdict = RetryCause | 'fine' | null

/** A start that is longer is not an error. */
const MAX_BYTES = 64 * 1024
/** Each piece has the start read again. */
const MAX_PIECES = 256

/** Errors of a request, a credential or an account: another try would come to the same. */
const OF_THE_CALL =
  /invalid|auth|permission|not_?found|billing|quota|too_large|unsupported|content|policy|safety|validation|denied/i
const OF_RATES = /rate_?limit|too_many|throttl|\b429\b/i

/** Reads a start as far as it has come. @param isWhole Nothing follows. */
type ReadStart = (bytes: Buffer, isWhole: boolean) => StartVerdict

/** Forms of answers in which a 200 may turn out to be an error. */
const READERS: ReadonlyMap<string, ReadStart> = new Map([
  ['text/event-stream', ofEvents],
  ['application/vnd.amazon.eventstream', ofMessages],
  ['application/x-ndjson', ofLines],
  ['application/json', ofJson],
])

function readerOf(contentType: AnswerHeaders[string]): ReadStart | undefined {
  const written = String(contentType ?? '')
  return READERS.get(written) ?? READERS.get((written.split(';', 1)[0] ?? '').trim().toLowerCase())
}

/**
 * The start of an answer, held until it is known not to be an error: up to the end of a stream's first event, with the
 * comments before it that keep connections alive; of JSON, up to its end where it begins as errors do.
 */
export class AnswerStart {
  readonly #read: ReadStart
  readonly #coding: string
  #held: Buffer[] = []
  #bytes = 0

  private constructor(read: ReadStart, coding: string) {
    this.#read = read
    this.#coding = coding
  }

  /** `null`: it tells by its head what it is. */
  static of(status: number, headers: AnswerHeaders): AnswerStart | null {
    const read = readerOf(headers['content-type'])
    const coding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
    return status !== 200 || read === undefined || !isDecodable(coding) ? null : new AnswerStart(read, coding)
  }

  get held(): readonly Buffer[] {
    return this.#held
  }

  push(chunk: Buffer): StartVerdict {
    this.#held.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes > MAX_BYTES || this.#held.length > MAX_PIECES ? 'fine' : this.#verdict(false)
  }

  /** The answer has ended. */
  end(): Exclude<StartVerdict, null> {
    return this.#verdict(true) ?? 'fine'
  }

  #verdict(isWhole: boolean): StartVerdict {
    const [first] = this.#held
    const held = first !== undefined && this.#held.length === 1 ? first : Buffer.concat(this.#held)
    const bytes = decodedStart(this.#coding, held, MAX_BYTES)
    return bytes === null ? 'fine' : this.#read(bytes, isWhole)
  }
}

function ofEvents(bytes: Buffer, isWhole: boolean): StartVerdict {
  const events = bytes
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .replace(/\r\n?/g, '\n')
    .split('\n\n')
  // The last one may go on.
  for (const event of isWhole ? events : events.slice(0, -1)) {
    const verdict = verdictOnEvent(event)
    if (verdict !== null) return verdict
  }
  return null
}

function ofMessages(bytes: Buffer): StartVerdict {
  let verdict: StartVerdict = null
  const reader = createEventStreamReader(({ messageType, eventType }) => {
    verdict ??= messageType === 'event' ? 'fine' : verdictOnError({ type: eventType })
  }, MAX_BYTES)
  reader.push(bytes)
  return verdict ?? (reader.corrupt || reader.skipped > 0 ? 'fine' : null)
}

function ofLines(bytes: Buffer, isWhole: boolean): StartVerdict {
  const lines = bytes.toString('utf8').split('\n')
  const line = (isWhole ? lines : lines.slice(0, -1)).find((one) => one.trim() !== '')
  return line === undefined ? null : verdictOnJson(line, '')
}

/** How errors begin in JSON, without spaces: answers begin with an id, a model or a list. */
const ERRORS_BEGIN = ['{"error":{', '{"error":"', '{"type":"error"']
const LONGEST_BEGINNING = 64
/** Holds a beginning, and the blanks that may stand before it. */
const BEGINNING_BYTES = 256

function ofJson(bytes: Buffer, isWhole: boolean): StartVerdict {
  if (!mayBeError(bytes)) return 'fine'
  return isWhole ? verdictOnJson(bytes.toString('utf8'), '') : null
}

/** Most answers tell by their first bytes that they are none. */
function mayBeError(bytes: Buffer): boolean {
  return !beginsOtherwise(bytes) && beginsAsErrors(bytes)
}

const BRACE = 0x7b
const QUOTE = 0x22
const SMALL_E = 0x65
const SMALL_T = 0x74

/** Whether it is an object whose first name is another letter's than those of errors. A text is not made for it. */
function beginsOtherwise(bytes: Buffer): boolean {
  const brace = afterBlanks(bytes, 0)
  const quote = bytes[brace] === BRACE ? afterBlanks(bytes, brace + 1) : -1
  if (bytes[quote] !== QUOTE) return false
  const letter = bytes[quote + 1] ?? 0
  return letter > 0x60 && letter < 0x7b && letter !== SMALL_E && letter !== SMALL_T
}

function afterBlanks(bytes: Buffer, from: number): number {
  let at = from
  for (let byte = bytes[at]; byte === 0x20 || (byte !== undefined && byte > 8 && byte < 14); byte = bytes[at])
    at += 1
  return at
}

function beginsAsErrors(bytes: Buffer): boolean {
  const start = bytes.toString('utf8', 0, BEGINNING_BYTES).trimStart()
  const isLong = start.length >= LONGEST_BEGINNING || bytes.length <= BEGINNING_BYTES
  const trimmed = isLong ? start : bytes.toString('utf8').trimStart()
  const begins = trimmed.slice(0, LONGEST_BEGINNING).replace(/\s+/g, '')
  return ERRORS_BEGIN.some((error) => begins.startsWith(error) || error.startsWith(begins))
}

/** `null`: it has no data. */
function verdictOnEvent(event: string): StartVerdict {
  let name = ''
  let data = ''
  for (const line of event.split('\n')) {
    if (line.startsWith('event:')) name = line.slice('event:'.length).trim()
    else if (line.startsWith('data:')) data += line.slice('data:'.length)
  }
  return data === '' ? null : verdictOnJson(data, name)
}

/** @param event Its name, where it is one; '' without. */
function verdictOnJson(text: string, event: string): StartVerdict {
  const json = parsedJson(text)
  const error = isObject(json) ? errorIn(json, event) : null
  return error === null ? 'fine' : verdictOnError(error)
}

function verdictOnError(error: Record<string, unknown>): StartVerdict {
  const kind = [error.type, error.code, error.status]
    .filter((part) => part !== undefined && part !== null)
    .join(' ')
  if (OF_RATES.test(kind)) return '429'
  if (OF_THE_CALL.test(kind)) return 'fine'
  const code = Number(error.code ?? error.status)
  return code >= 400 && code < 500 && code !== 408 ? 'fine' : '5xx'
}

function errorIn(json: Record<string, unknown>, name: string): Record<string, unknown> | null {
  if (isObject(json.error)) return json.error
  if (name === 'error' || json.type === 'error' || typeof json.error === 'string') {
    return typeof json.error === 'string' ? { ...json, type: json.error } : json
  }
  return null
}
