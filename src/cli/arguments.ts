import { InvalidArgumentError } from 'commander'
import { isModelPattern } from '../domain/names.ts'
import { parsePeriodDays } from '../domain/period.ts'
import { isDay } from '../domain/utc-day.ts'
import { PROVIDERS } from '../providers/registry.ts'

/** Parsers of arguments and options. Each throws commander's error, which ends the process with code 2. */

/** A number of UTC days, today's included. */
export function parseDays(text: string): number {
  const days = parsePeriodDays(text)
  if (days !== null) return days
  throw new InvalidArgumentError('Write a whole number from 1 to 365.')
}

/** A UTC day, as 2026-01-31. */
export function parseDay(text: string): string {
  if (isDay(text)) return text
  throw new InvalidArgumentError('Write a day that exists, such as 2026-01-31.')
}

/** One line of text, not empty. */
export function parseReason(text: string): string {
  if (text.trim() !== '' && text.length <= 500 && !/\p{Cc}/u.test(text)) return text.trim()
  throw new InvalidArgumentError('Write one line of at most 500 characters.')
}

/** The name of a provider. */
export function parseProvider(text: string): string {
  const provider = PROVIDERS.find((name) => name === text)
  if (provider !== undefined) return provider
  throw new InvalidArgumentError(`Write one of ${PROVIDERS.join(', ')}.`)
}

/** One model's name, or the beginning of names and a `*`. */
export function parseModel(text: string): string {
  if (isModelPattern(text)) return text
  throw new InvalidArgumentError('Write the name of a model; a * may only end it.')
}
