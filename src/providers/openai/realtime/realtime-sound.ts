import { type JsonObject, textIn } from '../../reading/json-value.ts'

const BASE64_BYTES_PER_BYTE = 4 / 3
const DEFAULT_SAMPLES_PER_SECOND = 24_000
const G711_BYTES_PER_SECOND = 8_000

/** Of sound in the format that a session has unless it says another. */
export const DEFAULT_BYTES_PER_SECOND = 2 * DEFAULT_SAMPLES_PER_SECOND

/**
 * Bytes of a second of a session's sound; `null`: it does not say.
 *
 * @param format `audio.input.format` or `audio.output.format`
 * @param betaFormat the name that stands in its place in sessions of the beta
 */
export function bytesPerSecond(format: JsonObject | null, betaFormat: unknown): number | null {
  const type = textIn(format?.type) ?? textIn(betaFormat)
  if (type === null) return null
  if (/g711|pcmu|pcma/.test(type)) return G711_BYTES_PER_SECOND
  const rate = format?.rate
  return 2 * (typeof rate === 'number' && rate > 0 ? rate : DEFAULT_SAMPLES_PER_SECOND)
}

/** Seconds of sound in so many bytes of base64. */
export function soundSeconds(base64Bytes: number, bytesPerSecond: number): number {
  return Math.max(0, base64Bytes) / BASE64_BYTES_PER_BYTE / bytesPerSecond
}
