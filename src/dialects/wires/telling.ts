import type { FindTelling } from './sse.ts'

const COLON = 0x3a
const LOWER_N = 0x6e

/**
 * Finds JSON members by name in bytes that were not parsed: `"usage"` and the like, with their quotes, unless
 * their value is `null`. Inside a JSON string the quotes would be escaped, so text that speaks of usage is not
 * taken for it; a member of that name elsewhere in the document is, and costs a look that finds nothing.
 */
export function findMembers(names: readonly string[]): FindTelling {
  const words = names.map((name) => Buffer.from(`"${name}"`))
  return (bytes, from) => {
    let first = -1
    for (const word of words) {
      let at = bytes.indexOf(word, from)
      while (at !== -1 && hasNoValue(bytes, at + word.length)) at = bytes.indexOf(word, at + word.length)
      if (at !== -1 && (first === -1 || at < first)) first = at
    }
    return first
  }
}

/** Whether a member's name that ends at `at` is followed by `null`, or is no member's name but a string. */
function hasNoValue(bytes: Buffer, at: number): boolean {
  const colon = afterSpaces(bytes, at)
  if (bytes[colon] !== COLON) return true
  return bytes[afterSpaces(bytes, colon + 1)] === LOWER_N
}

function afterSpaces(bytes: Buffer, from: number): number {
  let at = from
  while (isSpace(bytes[at])) at += 1
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
