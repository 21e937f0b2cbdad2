import { z } from 'zod'
import { PAGE_LIMIT_RULE, parsePageLimit } from '../domain/documents/page-limit.ts'
import { parseDurationSeconds } from '../domain/duration.ts'
import { isModelPattern, isName } from '../domain/names.ts'
import { DEFAULT_PERIOD_DAYS, MAX_PERIOD_DAYS, parsePeriodDays } from '../domain/period.ts'
import { GatewayError } from '../http/errors.ts'

/** What operators send, as zod schemas; their messages become the error's message. */

export const name = z
  .string('must be a text')
  .refine(isName, 'must be 1 to 128 characters that can be seen, without spaces around them')

/** The name of something that exists. */
export const anyName = z.string('must be a text')

export const modelList = z
  .array(
    z.string('must be a text').refine(isModelPattern, 'must be the name of a model; a * may only end it'),
    'must be a list of names of models',
  )
  .min(1, 'must name a model, or be left out for all of them')
  .max(1_000, 'must be at most 1,000 names')

/** The query of a route that has no parameters. */
export const noQuery = z.strictObject({})

/** A length of time such as `90d`, in seconds. */
export const duration = z.string('must be a text such as 90d').transform((text, context) => {
  const seconds = parseDurationSeconds(text)
  if (seconds !== null) return seconds
  context.addIssue({
    code: 'custom',
    message: 'must be a whole number and s, m, h, d or w, such as 90d, 24h or 15m',
  })
  return z.NEVER
})

/** A number of UTC days in a query. */
export const days = z
  .string(`must be one integer from 1 to ${MAX_PERIOD_DAYS}`)
  .default(String(DEFAULT_PERIOD_DAYS))
  .transform((text, context) => {
    const count = parsePeriodDays(text)
    if (count !== null) return count
    context.addIssue({ code: 'custom', message: `must be one integer from 1 to ${MAX_PERIOD_DAYS}` })
    return z.NEVER
  })

/** A part of a list in a query: so many items, behind the one that the answer before has named. */
export const listPart = {
  limit: z
    .string(PAGE_LIMIT_RULE)
    .transform((text, context) => {
      const limit = parsePageLimit(text)
      if (limit !== null) return limit
      context.addIssue({ code: 'custom', message: PAGE_LIMIT_RULE })
      return z.NEVER
    })
    .optional(),
  cursor: z.string('must be a text').optional(),
}

/**
 * Parses a body by its schema; an absent body counts as an empty one.
 * @throws {GatewayError} `invalid_request` that names the first invalid parameter.
 */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const parsed = schema.safeParse(input ?? {}, { reportInput: true })
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  if (issue === undefined) throw new GatewayError('invalid_request')
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys[0] ?? ''
    throw new GatewayError('invalid_request', {
      param: unknown,
      message: `There is no parameter ${unknown}.`,
    })
  }
  if (issue.path.length === 0) throw new GatewayError('invalid_request', { message: 'Send a JSON object.' })
  const param = issue.path.join('.')
  const isMissing = issue.code === 'invalid_type' && issue.input === undefined
  throw new GatewayError('invalid_request', {
    param,
    message: isMissing ? `${param} is missing.` : `${param} ${issue.message}.`,
  })
}
