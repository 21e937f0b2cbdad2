import { createHash } from 'node:crypto'
import { withoutKeys } from './api-key.ts'

const MAX_MODEL_BYTES = 128
const MAX_PATH_BYTES = 512

/**
 * A string that every store takes: no NUL, no lone surrogate, no API key that its owner put there, at most
 * `maxBytes` of UTF-8. A longer one is cut and ends in a hash of the whole, so that two long names stay two.
 */
export function cleanText(text: string, maxBytes: number): string {
  let clean = withoutKeys(text)
  if (clean.includes('\0')) clean = clean.replaceAll('\0', '\uFFFD')
  if (!clean.isWellFormed()) clean = clean.toWellFormed()
  if (clean.length * 3 <= maxBytes || Buffer.byteLength(clean) <= maxBytes) return clean
  const hash = createHash('sha256').update(clean).digest('hex').slice(0, 12)
  const kept = Buffer.from(clean)
    .subarray(0, maxBytes - hash.length - 4)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')
  return `${kept}~${hash}`
}

/** All that are not printed: below the blank, and DEL. */
const CONTROLS = /[^\x20-\x7e\x80-\uffff]/g

/** A model's name that is safe to keep, compare and show in one line, or `null`. */
export function cleanModel(model: string | null): string | null {
  return model === null || model === '' ? null : cleanText(model.replace(CONTROLS, '\uFFFD'), MAX_MODEL_BYTES)
}

/** A path without query that is safe to keep. */
export function cleanPath(path: string): string {
  return cleanText(path, MAX_PATH_BYTES)
}
