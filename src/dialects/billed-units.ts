import { MAX_COUNT } from '../domain/usage.ts'

/** Seconds as JSON has them, fractions allowed, in whole milliseconds; `null` for anything that is no duration. */
export function millisecondsIn(seconds: unknown): number | null {
  if (typeof seconds !== 'number' || !(seconds >= 0)) return null
  const milliseconds = Math.round(seconds * 1000)
  return milliseconds <= MAX_COUNT ? milliseconds : null
}

/** A count of units, fractions not allowed; `null` for anything that is none. */
export function unitsIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT
    ? value
    : null
}

/** Seconds as a number or as text (`8`, `"8"`, `"8s"`), in whole milliseconds; `null` for anything else. */
export function secondsAsMs(value: unknown): number | null {
  if (typeof value !== 'string') return millisecondsIn(value)
  return /^\d{1,6}(?:\.\d{1,6})?s?$/.test(value) ? millisecondsIn(Number.parseFloat(value)) : null
}

/** Characters as people count them: Unicode's code points. `null` for anything that is no text. */
export function charactersIn(value: unknown): number | null {
  if (typeof value !== 'string') return null
  let count = 0
  for (const _ of value) count += 1
  return count
}

/** The counts of a scan that stops counting there: of more nobody knows how many they are. */
const MAX_COUNTED = 1024
/** Bytes that a token of a document takes, about: what a ranker's limit is in. */
const BYTES_A_TOKEN = 4

/**
 * Search units of a ranking: a query with up to a hundred documents, of which a longer one counts as several.
 * @param documents the bytes that each takes as it is written in the request
 * @param tokensEach how long a document may be together with its query
 */
export function searchUnitsOf(
  documents: readonly unknown[],
  queryBytes: number,
  tokensEach: number,
): number | null {
  if (documents.length >= MAX_COUNTED) return null
  const room = Math.max(1, tokensEach - queryBytes / BYTES_A_TOKEN)
  let pieces = 0
  for (const bytes of documents) {
    if (typeof bytes !== 'number') return null
    pieces += Math.max(1, Math.ceil(bytes / BYTES_A_TOKEN / room))
  }
  return Math.max(1, Math.ceil(pieces / 100))
}
