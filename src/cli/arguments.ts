import { InvalidArgumentError } from 'commander'
import { parseDurationSeconds } from '../domain/duration.ts'
import { isModelPattern, isName } from '../domain/names.ts'
import { parsePeriodDays } from '../domain/period.ts'
import { isDay } from '../domain/utc-day.ts'
import { isProducer } from '../ledger/entry.ts'
import { PROVIDERS } from '../providers/registry.ts'

/** Parsers of arguments and options. Each throws commander's error, which ends the process with code 2. */

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

/** Model names or `prefix*`, separated by commas. */
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

/** A UTC day, as 2026-01-31. */
export function parseDay(text: string): string {
  if (isDay(text)) return text
  throw new InvalidArgumentError('Write a day that exists, such as 2026-01-31.')
}

const USD = /^(-?)(\d{1,15})(?:\.(\d{1,12}))?$/

/** An amount of US dollars such as `-12.50`, not zero, in integer pico-USD. */
export function parseUsd(text: string): bigint {
  const [, sign, whole, fraction = ''] = USD.exec(text) ?? []
  const pico = whole === undefined ? 0n : BigInt(whole + fraction.padEnd(12, '0'))
  if (pico !== 0n) return sign === '-' ? -pico : pico
  throw new InvalidArgumentError('Write dollars other than 0, such as -12.50, to 12 places at most.')
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

/** One model's exact name. */
export function parseModelName(text: string): string {
  if (isModelPattern(text) && !text.endsWith('*')) return text
  throw new InvalidArgumentError('Write the exact name of one model.')
}

/** A number of items to show. */
export function parseCountArgument(text: string): number {
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Write a whole number from 1 to 99999.')
}

/** Identifies a dead letter. */
export interface LetterId {
  readonly producer: string
  readonly sequence: number
}

/** `producer/sequence`. */
export function parseLetterId(text: string): LetterId {
  const [producer = '', sequence = '', ...rest] = text.split('/')
  if (isProducer(producer) && /^[1-9][0-9]{0,15}$/.test(sequence) && rest.length === 0) {
    return { producer, sequence: Number(sequence) }
  }
  throw new InvalidArgumentError('Write producer/sequence, as dead-letters list shows it.')
}
