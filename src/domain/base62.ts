import { randomBytes } from 'node:crypto'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** Bytes at or above this are drawn again: below it, every digit is equally likely. */
const UNBIASED_BYTES = 256 - (256 % DIGITS.length)

/** `length` random base62 digits from the system's secure source, 5.95 bits each. */
export function randomBase62(length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < UNBIASED_BYTES) text += DIGITS.charAt(byte % DIGITS.length)
    }
  }
  return text
}

/** A whole number below 62^`length` in base62, with leading zeros. */
export function toBase62(value: number, length: number): string {
  let rest = value
  let text = ''
  while (text.length < length) {
    text = DIGITS.charAt(rest % DIGITS.length) + text
    rest = Math.floor(rest / DIGITS.length)
  }
  return text
}
