import { spaceEnd, walkObject } from './json-bytes.ts'

/** What one pass over a request body's top level found. Offsets are into the scanned body. */
export interface RequestScan {
  /**
   * Whether the body is one JSON object that every parser reads alike, as far as the top level goes: nothing
   * before or after it but white space (a byte order mark may precede). When `false`, the other fields tell
   * what stood before the place where reading ended.
   */
  readonly readable: boolean
  /** Escapes undone; `null` when there is no key `model` or its value is not a string of at most 1 KiB. */
  readonly model: string | null
  /** `model` stands there more than once, or beside a `Model`, which Go's encoding/json takes for it. */
  readonly duplicateModel: boolean
  /** A key names models beside `model` that may serve the call: `models` (OpenRouter) or `fallbacks`. */
  readonly namesOtherModels: boolean
  /** `null` when the key is absent or its value is neither `true` nor `false`. */
  readonly stream: boolean | null
  /** `stream` or `stream_options` stands there more than once. */
  readonly duplicateStream: boolean
  /** The offset behind the value of `stream`; -1 without one. */
  readonly streamEnd: number
  readonly streamOptions: StreamOptions | null
}

/** The value of `stream_options`. */
export interface StreamOptions {
  readonly kind: 'object' | 'null' | 'other'
  readonly start: number
  /** Exclusive. */
  readonly end: number
  readonly empty: boolean
  readonly includeUsage: IncludeUsage | null
}

/** The value of `include_usage` within the `stream_options`. */
export interface IncludeUsage {
  readonly value: Literal
  readonly start: number
  /** Exclusive. */
  readonly end: number
}

/** What a value is where only these three matter. */
type Literal = true | false | null | 'other'

/** Longer names are nobody's model. */
const MAX_MODEL_BYTES = 1024

/** `stream_options` with each letter written as a `\u` escape. */
const MAX_KEY_BYTES = 'stream_options'.length * 6

type Findings = { -readonly [K in keyof RequestScan]: RequestScan[K] }

/**
 * Reads what the gateway needs of a request body, in one pass over its bytes: the rest is neither decoded nor
 * built, so a body of 100 KB takes tens of microseconds, and one of 100 MB no memory. Never throws.
 */
export function scanRequestBody(body: Buffer): RequestScan {
  const found: Findings = {
    readable: false,
    model: null,
    duplicateModel: false,
    namesOtherModels: false,
    stream: null,
    duplicateStream: false,
    streamEnd: -1,
    streamOptions: null,
  }
  let models = 0
  const end = walkObject(body, spaceEnd(body, bomEnd(body)), (keyStart, keyEnd, start, valueEnd) => {
    const key = keyText(body, keyStart, keyEnd)
    switch (key) {
      case 'model':
        found.model = modelText(body, start, valueEnd)
        models++
        break
      case 'stream':
        if (found.streamEnd >= 0) found.duplicateStream = true
        found.stream = booleanAt(body, start, valueEnd)
        found.streamEnd = valueEnd
        break
      case 'stream_options':
        if (found.streamOptions) found.duplicateStream = true
        found.streamOptions = scanStreamOptions(body, start, valueEnd)
        break
      case 'models':
      case 'fallbacks':
        found.namesOtherModels = true
        break
      default:
        if (key.length === 5 && key.toLowerCase() === 'model') models++
    }
  })
  found.duplicateModel = models > 1
  found.readable = end >= 0 && spaceEnd(body, end) === body.length
  return found
}

function scanStreamOptions(body: Buffer, start: number, end: number): StreamOptions {
  let empty = true
  let includeUsage: IncludeUsage | null = null
  const walkedTo = walkObject(body, start, (keyStart, keyEnd, valueStart, valueEnd) => {
    empty = false
    if (keyText(body, keyStart, keyEnd) !== 'include_usage') return
    // Twice: what it means depends on who reads it.
    const value = includeUsage ? 'other' : literalAt(body, valueStart, valueEnd)
    includeUsage = { value, start: valueStart, end: valueEnd }
  })
  if (walkedTo === end) return { kind: 'object', start, end, empty, includeUsage }
  const kind = literalAt(body, start, end) === null ? 'null' : 'other'
  return { kind, start, end, empty: true, includeUsage: null }
}

function bomEnd(body: Buffer): number {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0
}

/** The key without escapes; '' for one that is too long to be of interest. */
function keyText(body: Buffer, start: number, end: number): string {
  if (end - start > MAX_KEY_BYTES) return ''
  const text = body.toString('latin1', start, end)
  return text.includes('\\') ? (parsedString(body, start - 1, end + 1) ?? '') : text
}

function modelText(body: Buffer, start: number, end: number): string | null {
  return end - start > MAX_MODEL_BYTES ? null : parsedString(body, start, end)
}

function parsedString(body: Buffer, start: number, end: number): string | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8', start, end))
    return typeof value === 'string' ? value : null
  } catch {
    return null
  }
}

function literalAt(body: Buffer, start: number, end: number): Literal {
  if (end - start > 5) return 'other'
  switch (body.toString('latin1', start, end)) {
    case 'true':
      return true
    case 'false':
      return false
    case 'null':
      return null
    default:
      return 'other'
  }
}

function booleanAt(body: Buffer, start: number, end: number): boolean | null {
  const value = literalAt(body, start, end)
  return value === 'other' ? null : value
}
