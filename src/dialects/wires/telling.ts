import type { FindTelling } from './sse.ts'

const COLON = 0x3a
const LOWER_N = 0x6e

/**
 * Finds JSON members by name in bytes that were not parsed: `"usage"`, `"error"`, with their quotes; also strings
 * that are just that word, as in `"type":"error"`. A member whose value is `null` says nothing and is passed
 * over. Inside a longer JSON string the quotes would be escaped, so text that speaks of usage is not taken for it;
 * a member of that name elsewhere in the document is, and costs a look that finds nothing.
 */
export function findMembers(words: readonly string[]): FindTelling {
  const quoted = words.map((word) => Buffer.from(`"${word}"`))
  return (bytes, from) => {
    let first = -1
    for (const word of quoted) {
      let at = bytes.indexOf(word, from)
      while (at !== -1 && isNull(bytes, at + word.length)) at = bytes.indexOf(word, at + word.length)
      if (at !== -1 && (first === -1 || at < first)) first = at
    }
    return first
  }
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
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09
}
