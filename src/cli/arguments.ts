import { InvalidArgumentError } from 'commander'
import { parseDurationSeconds } from '../domain/duration.ts'
import { isModelPattern, isName } from '../domain/names.ts'
import { parsePeriodDays } from '../domain/period.ts'

/** What arguments and options may be. Each throws commander's error, which ends the process with code 2. */

/** A length of time such as `90d`, `24h`, `15m` or `0`, in seconds. */
export function parseDuration(text: string): number {
  const seconds = parseDurationSeconds(text)
  if (seconds !== null) return seconds
  throw new InvalidArgumentError('Write a whole number and s, m, h, d or w, such as 90d, 24h or 15m.')
}

/** A length of time that is not zero. */
export function parseLifetime(text: string): number {
  const seconds = parseDuration(text)
  if (seconds > 0) return seconds
  throw new InvalidArgumentError('It must be longer than nothing.')
}

/** The name of a client or the label of a key. */
export function parseName(text: string): string {
  if (isName(text)) return text
  throw new InvalidArgumentError('Write 1 to 128 characters that can be seen, without spaces around them.')
}

/** Names of models or `prefix*`, parted by commas. */
export function parseModels(text: string): readonly string[] {
  const patterns = text.split(',').map((pattern) => pattern.trim())
  if (patterns.every(isModelPattern)) return [...new Set(patterns)]
  throw new InvalidArgumentError('Write names of models parted by commas; a * may only end a name.')
}

/** A number of UTC days, today's included. */
export function parseDays(text: string): number {
  const days = parsePeriodDays(text)
  if (days !== null) return days
  throw new InvalidArgumentError('Write a whole number from 1 to 365.')
}
