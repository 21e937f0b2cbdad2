import { z } from 'zod'
import { GatewayError } from '../http/errors.ts'

/** What operators send, as zod schemas; their messages become the error's message. */

/** The name of something that exists. */
export const anyName = z.string('must be a text')

/** The query of a route that has no parameters. */
export const noQuery = z.strictObject({})

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
