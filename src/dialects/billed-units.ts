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
