import { z } from 'zod'
import { MAX_PAGE_LIMIT, PAGE_LIMIT_RULE } from '../domain/documents/page-limit.ts'
import { parseDurationSeconds } from '../domain/duration.ts'
import { isModelPattern, isName } from '../domain/names.ts'
import { DEFAULT_PERIOD_DAYS, MAX_PERIOD_DAYS } from '../domain/period.ts'
import { isDay } from '../domain/utc-day.ts'
import { VALUE } from './read-input.ts'

/**
 * OperationFields that several operations have. A message is what comes behind the parameter's name, without a full stop. Texts
 * of a query and of the command line are read as the field's JSON type before.
 */

const TEXT_RULE = 'must be a text'

/**
 * A text without a rule.
 *
 * @param value What stands for it in the help of the command line.
 */
export function textField(description: string, value = 'text') {
  return z.string(TEXT_RULE).meta({ description, [VALUE]: value })
}

/** A name that is given to something. */
export function nameField(description: string) {
  return z
    .string(TEXT_RULE)
    .refine(isName, 'must be 1 to 128 characters that can be seen, without spaces around them')
    .meta({ description, minLength: 1, maxLength: 128, [VALUE]: 'name' })
}

/** One line of text. */
export function lineField(description: string) {
  return z
    .string(TEXT_RULE)
    .regex(/^(?=.*\S)[^\p{Cc}]{1,500}$/u, 'must be one line of at most 500 characters')
    .meta({ description, pattern: undefined, minLength: 1, maxLength: 500 })
}

/** The name of a client that exists. */
export function clientField(description = 'The name of a client. Without it: all.') {
  return textField(description, 'name')
}

/** A model's name, or the beginning of names and a `*`. */
export function modelField(description: string) {
  return z
    .string(TEXT_RULE)
    .refine(isModelPattern, 'must be the name of a model; a * may only end it')
    .meta({ description, [VALUE]: 'pattern' })
}

/** One model's exact name. */
export function modelNameField(description: string) {
  return z
    .string(TEXT_RULE)
    .refine((name) => isModelPattern(name) && !name.endsWith('*'), 'must be the exact name of one model')
    .meta({ description, [VALUE]: 'name' })
}

const USD = /^(-?)(\d{1,15})(?:\.(\d{1,12}))?$/

/** An amount of US dollars, not zero, in integer pico-USD. */
export function usdField(description: string) {
  const rule = 'must be US dollars other than 0, such as -12.50, to 12 places at most'
  return z
    .union([z.string(), z.number()], rule)
    .transform((written, context) => {
      const [, sign, whole, fraction = ''] = USD.exec(String(written)) ?? []
      const pico = whole === undefined ? 0n : BigInt(whole + fraction.padEnd(12, '0'))
      if (pico !== 0n) return sign === '-' ? -pico : pico
      context.addIssue({ code: 'custom', message: rule })
      return z.NEVER
    })
    .meta({ anyOf: undefined, type: ['string', 'number'], description, [VALUE]: 'usd' })
}

/** A length of time such as `90d`, in seconds. */
export function durationField(description: string) {
  return z
    .string('must be a text such as 90d')
    .transform((written, context) => {
      const seconds = parseDurationSeconds(written)
      if (seconds !== null) return seconds
      context.addIssue({
        code: 'custom',
        message: 'must be a whole number and s, m, h, d or w, such as 90d, 24h or 15m',
      })
      return z.NEVER
    })
    .meta({
      description,
      pattern: '^(0|[0-9]{1,9}[smhdw])$',
      examples: ['90d', '24h', '15m'],
      [VALUE]: 'duration',
    })
}

/** A UTC day that exists. */
export function dayField(description: string) {
  return z
    .string('must be a day')
    .refine(isDay, 'must be a day that exists, such as 2026-01-31')
    .meta({ description, format: 'date', [VALUE]: 'day' })
}

/** One of these. */
export function choiceField<const Name extends string>(
  names: readonly Name[],
  description: string,
  value = 'choice',
) {
  const last = names.at(-1)
  const rule = names.length === 2 ? `must be ${names[0]} or ${last}` : `must be one of ${names.join(', ')}`
  return z.enum(names as readonly [Name, ...Name[]], rule).meta({ description, [VALUE]: value })
}

/** Yes or no: an option without a value on the command line. */
export function flagField(description: string) {
  return z.boolean('must be true or false').describe(description)
}

export function countField(most: number, description: string) {
  const rule = `must be one integer from 1 to ${most}`
  return z.int(rule).min(1, rule).max(most, rule).describe(description)
}

/** A number of UTC days, today's included. */
export function daysField(standard = DEFAULT_PERIOD_DAYS) {
  const rule = `must be one integer from 1 to ${MAX_PERIOD_DAYS}`
  return z
    .int(rule)
    .min(1, rule)
    .max(MAX_PERIOD_DAYS, rule)
    .default(standard)
    .describe('UTC days: today and those before.')
}

/** The parameters of a list that can be read part by part. */
export const LIST_PART = {
  limit: z
    .int(PAGE_LIMIT_RULE)
    .min(1, PAGE_LIMIT_RULE)
    .max(MAX_PAGE_LIMIT, PAGE_LIMIT_RULE)
    .describe('The answer has at most so many items. Without it: all, or what the operation says.')
    .optional(),
  cursor: textField(
    'The answer goes on behind this item: the header x-tallygate-next-cursor of the answer before.',
  ).optional(),
}
