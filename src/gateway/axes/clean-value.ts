import { createHash, createHmac } from 'node:crypto'
import { withoutKeys } from '../../domain/api-key.ts'

const MAX_VALUE_BYTES = 128
const HASH_DIGITS = 32
/** Printable ASCII, spaces within. Our own names, such as `(other)`, begin with a parenthesis. */
const PLAIN = /^[\x21-\x27\x29-\x7e](?:[\x20-\x7e]{0,126}[\x21-\x7e])?$/
const UNSEEN = /[\p{C}\u2028\u2029]/u

/**
 * A value as it is kept: at most 128 bytes that can be seen. A longer one, one with control characters, and one that looks
 * like a name of ours is a hash of itself: a part of it would make one of two.
 *
 * @param hashKey Every value is a hash by this key; `null`: as far as it can, it stays.
 * @returns `null`: there is nothing in it.
 */
export function cleanValue(text: string, hashKey: string | null): string | null {
  const clean = withoutKeys(text.trim())
  if (clean === '') return null
  if (hashKey !== null)
    return `hmac:${createHmac('sha256', hashKey).update(clean).digest('hex').slice(0, HASH_DIGITS)}`
  if (PLAIN.test(clean)) return clean
  const isKept =
    Buffer.byteLength(clean) <= MAX_VALUE_BYTES &&
    clean.isWellFormed() &&
    !clean.startsWith('(') &&
    !UNSEEN.test(clean)
  return isKept ? clean : `sha256:${createHash('sha256').update(clean).digest('hex').slice(0, HASH_DIGITS)}`
}
