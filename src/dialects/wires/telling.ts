import type { FindTelling } from './sse.ts'

const QUOTE = 0x22
const COLON = 0x3a
const SPACE = 0x20
const LOWER_N = 0x6e
const ERROR = Buffer.from('error')
const EVENT_FIELD = 'event:'

/**
 * Finds JSON members by name in bytes that were not parsed: `"usage"` and the like, with their quotes; also strings
 * that are just that word, as in `"type":"error"`. A member whose value is `null` says nothing and is passed
 * over. Inside a longer JSON string the quotes would be escaped, so text that speaks of usage is not taken for it;
 * a member of that name elsewhere in the document is, and costs a look that finds nothing. Who looks for `error`
 * finds events of that name as well, whose data need not say so again.
 */
export function findMembers(names: readonly string[]): FindTelling {
  const finders = names.map((name) => (name === 'error' ? findError : findMember(name)))
  return (bytes, from) => {
    let first = -1
    for (const find of finders) {
      const at = find(bytes, from)
      if (at !== -1 && (first === -1 || at < first)) first = at
    }
    return first
  }
}

function findMember(name: string): FindTelling {
  const quoted = Buffer.from(`"${name}"`)
  return (bytes, from) => {
    let at = bytes.indexOf(quoted, from)
    while (at !== -1 && isNull(bytes, at + quoted.length)) at = bytes.indexOf(quoted, at + quoted.length)
    return at
  }
}

function findError(bytes: Buffer, from: number): number {
  let at = bytes.indexOf(ERROR, from)
  while (at !== -1 && !isErrorMember(bytes, at) && !isErrorEvent(bytes, at)) {
    at = bytes.indexOf(ERROR, at + ERROR.length)
  }
  return at
}

function isErrorMember(bytes: Buffer, at: number): boolean {
  const end = at + ERROR.length
  return bytes[at - 1] === QUOTE && bytes[end] === QUOTE && !isNull(bytes, end + 1)
}

function isErrorEvent(bytes: Buffer, at: number): boolean {
  const end = bytes[at - 1] === SPACE ? at - 1 : at
  return (
    bytes[end - 1] === COLON &&
    bytes.toString('latin1', Math.max(0, end - EVENT_FIELD.length), end) === EVENT_FIELD
  )
}

/** Whether the member whose name ends at `at` is `null`. */
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
