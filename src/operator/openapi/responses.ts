import { ERRORS, type ErrorName } from '../../http/errors.ts'
import { errorBody } from '../../http/shapes/error-body.ts'
import { ref } from './schema-parts.ts'
import type { Response, Schema } from './types.ts'

/** A JSON answer. */
export function json(description: string, schema: Schema): Response {
  return { description, content: { 'application/json': { schema } } }
}

/** The answers of these errors, by status, with each error's message as an example. */
export function errors(...names: readonly ErrorName[]): Readonly<Record<string, Response>> {
  return errorResponses(ref('Error'), names)
}

const CALL_ERRORS = ['Error', 'AnthropicError', 'GoogleError', 'TextError', 'MessageError'] as const

/** As `errors`, for calls that go upstream: written as the client library of the path reads them. */
export function callErrors(...names: readonly ErrorName[]): Readonly<Record<string, Response>> {
  return errorResponses({ anyOf: CALL_ERRORS.map(ref) }, names)
}

function errorResponses(schema: Schema, names: readonly ErrorName[]): Readonly<Record<string, Response>> {
  const statuses = new Set(names.map((name) => ERRORS[name].status))
  return Object.fromEntries(
    [...statuses].map((status) => {
      const ofStatus = names.filter((name) => ERRORS[name].status === status)
      const examples = ofStatus.map((name) => [name, { value: errorBody('openai', name) }])
      const description = ofStatus.map((name) => ERRORS[name].message).join(' Or: ')
      return [
        String(status),
        { description, content: { 'application/json': { schema, examples: Object.fromEntries(examples) } } },
      ]
    }),
  )
}
