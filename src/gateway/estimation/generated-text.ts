import { parsedJson } from '../../domain/json.ts'
import type { Dialect } from '../../providers/dialect.ts'
import { calledTools } from '../../providers/reading/called-tools.ts'
import { nestedEnd } from '../../providers/wires/json-bytes.ts'

/** Braces that turn out not to begin JSON are tried up to this often: binary frames have some, hostile bodies many. */
const MAX_MISSES = 200

/** No answer with text in it is nested deeper. */
const MAX_CUT_DEPTH = 100

const OPEN_BRACE = 0x7b

/** What a model generated: text, and how many calls of tools are in it. */
export interface Generated {
  readonly text: string
  readonly calls: number
}

/** Generated text in a part of a response's body. */
export interface GeneratedText extends Generated {
  /** Where the first JSON with text in it begins; 0 without any. */
  readonly start: number
  /** Behind the last JSON with text in it; 0 without any. */
  readonly end: number
}

/**
 * Finds the text in `bytes`, a body or a part cut out of one, in any of the wires that carry JSON objects: events,
 * lines, arrays, binary frames, a single body. What is cut at either end is left out.
 */
export function generatedTextIn(bytes: Buffer, dialect: Dialect): GeneratedText {
  const texts: string[] = []
  let start = 0
  let end = 0
  let calls = 0
  let misses = 0
  let brace = bytes.indexOf(OPEN_BRACE)
  while (brace >= 0 && misses < MAX_MISSES) {
    const objectEnd = nestedEnd(bytes, brace)
    const json = objectEnd < 0 ? undefined : parsedJson(bytes.toString('utf8', brace, objectEnd))
    if (json === undefined) {
      misses++
      brace = bytes.indexOf(OPEN_BRACE, brace + 1)
      continue
    }
    const { text, calls: begun } = generatedIn(json, dialect)
    calls += begun
    if (text !== '') {
      if (texts.length === 0) start = brace
      texts.push(text)
      end = objectEnd
    }
    brace = bytes.indexOf(OPEN_BRACE, objectEnd)
  }
  return { text: texts.join(''), calls, start, end }
}

/** The text in the beginning of a JSON body that was cut anywhere; '' when it cannot be read. */
export function textInCutJson(bytes: Buffer, dialect: Dialect): Generated {
  for (const closed of endingsOfCut(bytes.toString('utf8'))) {
    const json = parsedJson(closed)
    if (json !== undefined) return generatedIn(json, dialect)
  }
  return NOTHING
}

/** Two ways to end JSON that was cut: where it was cut, or, if that was amid a key or a number, a member before. */
function endingsOfCut(text: string): readonly string[] {
  const closers: string[] = []
  let quoted = false
  let end = 0
  let lastComma = 0
  let closersAtComma = ''
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === '"') quoted = !quoted
    else if (quoted) at += escapeLength(char, text[at + 1])
    else if (char === '{') closers.push('}')
    else if (char === '[') closers.push(']')
    else if (char === '}' || char === ']') closers.pop()
    else if (char === ',' && closers.length <= MAX_CUT_DEPTH) {
      lastComma = at
      closersAtComma = closers.toReversed().join('')
    }
    // An escape that is cut itself ends beyond the text and goes.
    if (at < text.length) end = at + 1
  }
  const quote = quoted ? '"' : ''
  return [
    text.slice(0, end) + quote + closers.toReversed().join(''),
    text.slice(0, lastComma) + closersAtComma,
  ]
}

/** How many characters follow the first of an escape, `\n` or `\u0041`; 0 when `char` begins none. */
function escapeLength(char: string | undefined, next: string | undefined): number {
  if (char !== '\\') return 0
  return next === 'u' ? 5 : 1
}

const NOTHING: Generated = { text: '', calls: 0 }

function generatedIn(json: unknown, dialect: Dialect): Generated {
  try {
    const inner = wrappedJson(json) ?? json
    return { text: dialect.textOf(json) || dialect.textOf(inner), calls: calledTools(inner) }
  } catch {
    return NOTHING
  }
}

/** Bedrock wraps the events of its invoke streams as `{"bytes": base64}`. */
function wrappedJson(json: unknown): unknown {
  if (typeof json !== 'object' || json === null || !('bytes' in json)) return null
  return typeof json.bytes === 'string'
    ? parsedJson(Buffer.from(json.bytes, 'base64').toString('utf8'))
    : null
}
