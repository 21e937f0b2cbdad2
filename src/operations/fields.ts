import { z } from 'zod'
import { MAX_PAGE_LIMIT, PAGE_LIMIT_RULE } from '../domain/documents/page-limit.ts'
import { DURATION_FORM, parseDurationSeconds } from '../domain/duration.ts'
import { MAX_NAME_LENGTH, MODEL_NAME_FORM, MODEL_PATTERN_FORM, NAME_FORM } from '../domain/names.ts'
import { DEFAULT_PERIOD_DAYS, MAX_PERIOD_DAYS } from '../domain/period.ts'
import { isDay } from '../domain/utc-day.ts'
import { isMonth, MONTH_FORM } from '../domain/utc-month.ts'
import { VALUE } from './read-input.ts'
import { CURSOR_RULE } from './refuse.ts'

/**
 * OperationFields that several operations have. A message is what comes behind the parameter's name, without a full stop. Texts
 * of a query and of the command line are read as the field's JSON type before.
 */

const TEXT_RULE = 'must be a text'
const TEXT_FORM = /^[^\p{Cc}]*$/u

/**
 * A text of one form, which JSON schemas say too: the same expression checks it and is shown.
 *
 * @param rule Words for the form: `must be one line`.
 * @param length In characters, not in the code units of `length`.
 */
export function formField(
  form: RegExp,
  rule: string,
  meta: Readonly<Record<string, unknown>>,
  length: { readonly least?: number; readonly most?: number } = {},
) {
  const { least = 0, most = Number.POSITIVE_INFINITY } = length
  return z
    .string(TEXT_RULE)
    .refine((text) => {
      const characters = [...text].length
      return characters >= least && characters <= most && form.test(text) && text.isWellFormed()
    }, rule)
    .meta({
      pattern: patternOf(form),
      ...(length.least === undefined ? {} : { minLength: length.least }),
      ...(length.most === undefined ? {} : { maxLength: length.most }),
      ...meta,
    })
}

/** Not every language that reads JSON schemas knows the name of control characters, so they are written out. */
export function patternOf({ source }: RegExp): string {
  return source.replaceAll('\\p{Cc}', '\\x00-\\x1f\\x7f-\\x9f')
}

/**
 * A text that names something, whatever it is.
 *
 * @param value What stands for it in the help of the command line.
 */
export function textField(description: string, value = 'text') {
  return formField(TEXT_FORM, 'must have no control characters in it', {
    description,
    [VALUE]: value,
  })
}

/** A name that is given to something. */
export function nameField(description: string) {
  const rule = `must be 1 to ${MAX_NAME_LENGTH} characters that can be seen, without spaces around them`
  const length = { least: 1, most: MAX_NAME_LENGTH }
  return formField(NAME_FORM, rule, { description, examples: ['acme'], [VALUE]: 'name' }, length)
}

/** One line of text. */
export function lineField(description: string) {
  const form = /^[^\p{Cc}]*[^\s\p{Cc}][^\p{Cc}]*$/u
  return formField(form, 'must be one line of at most 500 characters', { description }, { most: 500 })
}

/** The name of a client that exists. */
export function clientField(description = 'The name of a client. Without it: all.') {
  return textField(description, 'name')
}

/** A model's name, or the beginning of names and a `*`. */
export function modelField(description: string) {
  const rule = 'must be the name of a model; a * may only end it'
  return formField(MODEL_PATTERN_FORM, rule, { description, [VALUE]: 'pattern' })
}

/** One model's exact name. */
export function modelNameField(description: string) {
  return formField(MODEL_NAME_FORM, 'must be the exact name of one model', { description, [VALUE]: 'name' })
}

/** The most digits that an amount has before and behind its point. */
const USD_DIGITS = { whole: 15, fraction: 12 }
const NOT_ZERO = '(?!0+(?:\\.0+)?$)'
const FRACTION = `(?:\\.([0-9]{1,${USD_DIGITS.fraction}}))?`

/**
 * An amount of US dollars, not zero, in integer pico-USD.
 *
 * @param digits The most before its point.
 */
export function usdField(description: string, digits = USD_DIGITS.whole) {
  const most = 10 ** digits - 1
  return usdIn(description, {
    rule: 'must be US dollars other than 0, such as -12.50, to 12 places at most',
    form: new RegExp(`^-?${NOT_ZERO}([0-9]{1,${digits}})${FRACTION}$`),
    numbers: { minimum: -most, maximum: most, not: { const: 0 } },
  })
}

/** What may be spent, in integer pico-USD. */
export function budgetField(description: string) {
  return usdIn(description, {
    rule: 'must be US dollars above 0 and up to 1000000000, such as 12.50, to 12 places at most',
    form: new RegExp(`^${NOT_ZERO}([0-9]{1,9}|1000000000(?!\\.0*[1-9]))${FRACTION}$`),
    numbers: { exclusiveMinimum: 0, maximum: 1e9 },
  })
}

interface UsdTerms {
  readonly rule: string
  /** Its groups are what is before the point, and what is behind it. */
  readonly form: RegExp
  /** The same of numbers, as a schema. */
  readonly numbers: Readonly<Record<string, unknown>>
}

function usdIn(description: string, { rule, form, numbers }: UsdTerms) {
  return z
    .union([z.string(), z.number()], rule)
    .transform((written, context) => {
      const text = plainly(written)
      const [, whole, fraction = ''] = form.exec(text) ?? []
      const pico = whole === undefined ? null : BigInt(whole + fraction.padEnd(USD_DIGITS.fraction, '0'))
      if (pico !== null) return text.startsWith('-') ? -pico : pico
      context.addIssue({ code: 'custom', message: rule })
      return z.NEVER
    })
    .meta({
      anyOf: [
        { type: 'string', pattern: form.source },
        { type: 'number', multipleOf: 1e-12, ...numbers },
      ],
      description,
      [VALUE]: 'usd',
    })
}

/** JavaScript writes numbers below a millionth with an exponent, which no amount has. */
function plainly(written: string | number): string {
  if (typeof written === 'string' || Math.abs(written) >= 1e-6) return String(written)
  const plain = written.toFixed(USD_DIGITS.fraction)
  return Number(plain) === written ? plain : ''
}

/**
 * A length of time such as `90d`, in seconds.
 *
 * @param least Whether it may be no time at all.
 */
export function durationField(description: string, least: 'none' | 'some' = 'none') {
  const form = least === 'none' ? DURATION_FORM : new RegExp(`^(?!0+[a-z]?$)${DURATION_FORM.source.slice(1)}`)
  return z
    .string('must be a text such as 90d')
    .transform((written, context) => {
      const seconds = parseDurationSeconds(written)
      if (seconds !== null && form.test(written)) return seconds
      const isNothing = seconds !== null
      context.addIssue({
        code: 'custom',
        message: isNothing
          ? 'must be longer than nothing'
          : 'must be a whole number and s, m, h, d or w, such as 90d, 24h or 15m',
      })
      return z.NEVER
    })
    .meta({ description, pattern: form.source, examples: ['90d', '24h', '15m'], [VALUE]: 'duration' })
}

/** No call is of a day beyond. Reckoning from the last days that four digits can write would leave that form. */
const REPORT_DAY_FORM = /^(?:19[7-9][0-9]|2[0-9]{3})-[0-9]{2}-[0-9]{2}$/

/** Tells whether a text is a UTC day that can be reported on, from 1970 to 2999. */
export function isReportDay(text: string): boolean {
  return REPORT_DAY_FORM.test(text) && isDay(text)
}

/** A UTC day that exists, from 1970 to 2999. */
export function dayField(description: string) {
  return z
    .string('must be a day')
    .refine(isReportDay, 'must be a day that exists, from 1970 to 2999, such as 2026-01-31')
    .meta({ description, format: 'date', pattern: REPORT_DAY_FORM.source, [VALUE]: 'day' })
}

/** A calendar month in UTC that exists. */
export function monthField(description = 'YYYY-MM, UTC.') {
  return z
    .string('must be a text')
    .refine(isMonth, 'must be a month that exists, such as 2026-01')
    .meta({ description, pattern: MONTH_FORM.source, [VALUE]: 'month' })
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
export function dayCountField() {
  const rule = `must be one integer from 1 to ${MAX_PERIOD_DAYS}`
  return z.int(rule).min(1, rule).max(MAX_PERIOD_DAYS, rule).describe('UTC days: today and those before.')
}

/** The same where another number is not needed. */
export function daysField(standard = DEFAULT_PERIOD_DAYS) {
  return dayCountField().default(standard).describe('UTC days: today and those before.')
}

/** The item behind which a list goes on. */
export function cursorField(form: RegExp) {
  return formField(form, CURSOR_RULE, {
    description:
      'The answer goes on behind this item: the header x-tallygate-next-cursor of the answer before.',
    [VALUE]: 'text',
  })
}

/** So many items of a list come over HTTP where no number of them is asked for. */
export const LISTED_ROWS = 100

/** The parameters of a list that can be read part by part. */
export const LIST_PART = {
  limit: z
    .int(PAGE_LIMIT_RULE)
    .min(1, PAGE_LIMIT_RULE)
    .max(MAX_PAGE_LIMIT, PAGE_LIMIT_RULE)
    .describe('The answer has at most so many items.')
    .optional(),
  cursor: cursorField(TEXT_FORM).optional(),
}

/** Groups to break sums down by, each once. */
export function groupsField<const Name extends string, const More extends string = never>(
  names: readonly Name[],
  description: string,
  more?: { readonly item: z.ZodType<More, More>; readonly text: string },
) {
  const all = more === undefined ? names : [...names, more.text]
  const rule = `must name ${all.join(', ')}, or several of them with commas between, each once`
  const name = z.enum(names as readonly [Name, ...Name[]], rule)
  const item: z.ZodType<Name | More, Name | More> =
    more === undefined ? name : z.union([name, more.item], rule)
  return z
    .array(item, rule)
    .min(1, rule)
    .refine((groups) => new Set(groups).size === groups.length, rule)
    .meta({ description, uniqueItems: true })
}
