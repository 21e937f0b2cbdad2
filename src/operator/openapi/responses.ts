import { errorBody } from '../../http/error-shape.ts'
import { ERRORS, type ErrorName } from '../../http/errors.ts'
import { count, object, ref, text } from './schema-parts.ts'
import type { Response, Schema } from './types.ts'

/** Errors, as each client library reads them. */
export const ERROR_SCHEMAS: Readonly<Record<string, Schema>> = {
  Error: object({
    error: object({
      message: text('For people.'),
      type: text('The kind of error.'),
      param: { type: ['string', 'null'], description: 'The parameter at fault.' },
      code: { type: ['string', 'null'], description: 'For programs; null where the type says it all.' },
    }),
  }),
  GoogleError: object({
    error: object({
      code: count('The status.'),
      message: text('For people.'),
      status: text('As gRPC names it: UNAUTHENTICATED, RESOURCE_EXHAUSTED, ...'),
      details: { type: 'array', items: { type: 'object' } },
    }),
  }),
  TextError: object({ error: text('For people. On paths of Ollama, and at xAI.'), code: text('At xAI.') }, [
    'code',
  ]),
  MessageError: {
    type: 'object',
    properties: { message: text('For people. On paths of AWS and Cohere, and at Mistral.') },
    required: ['message'],
  },
  AnthropicError: object({
    type: { const: 'error' },
    error: object({ type: text('The kind of error.'), message: text('For people.') }),
  }),
}

/** A JSON answer. */
export function json(description: string, schema: Schema): Response {
  return { description, content: { 'application/json': { schema } } }
}

/** The answers of these errors, by status, with each error's message as an example. */
export function errors(...names: readonly ErrorName[]): Readonly<Record<string, Response>> {
  return errorResponses(ref('Error'), names)
}

/** As `errors`, for calls that go upstream: written as the client library of the path reads them. */
export function callErrors(...names: readonly ErrorName[]): Readonly<Record<string, Response>> {
  return errorResponses({ anyOf: Object.keys(ERROR_SCHEMAS).map(ref) }, names)
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
