import { z } from 'zod'
import type { ErrorName } from '../../http/errors.ts'
import {
  type AnyOperation,
  isOfClients,
  type OperationFields,
  type OperationRoute,
} from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { formsOf, VALUE } from '../../operations/read-input.ts'
import { AS_OF } from '../../usage/query/answer-usage.ts'
import { NEXT_CURSOR } from '../admin-answers.ts'
import { placesOf } from '../serve-operations.ts'
import { errors, json } from './responses.ts'
import type { ApiOperation, Method, Parameter, PathItem, Response, Schema } from './types.ts'

/** Who may ask for operations of a role, and where. */
const PLACES = {
  operator: { prefix: '/admin/v1', tag: 'operators' },
  client: { prefix: '/portal/v1', tag: 'portal' },
} as const

function placeOf<Has extends Ports>({ role }: AnyOperation<Has>) {
  return PLACES[isOfClients(role) ? 'client' : 'operator']
}

/**
 * The paths of operations, as `/openapi.json` has them.
 *
 * @param schemas Gets what they refer to.
 */
export function describeOperations<Has extends Ports>(
  operations: readonly AnyOperation<Has>[],
  schemas: Record<string, Schema>,
): Readonly<Record<string, PathItem>> {
  const paths: Record<string, Partial<Record<Method, ApiOperation>> & { parameters?: Parameter[] }> = {}
  for (const operation of operations) {
    const { http } = operation
    if (!('path' in http)) continue
    const path = `${placeOf(operation).prefix}${http.path}`
    const places = placesOf(operation.input, http)
    const item = paths[path] ?? {}
    paths[path] = item
    const inPath = parametersOf(places.path, 'path')
    if (inPath.length > 0) item.parameters = inPath
    item[http.method.toLowerCase() as Method] = describe(operation, http, schemas)
  }
  return paths
}

function describe<Has extends Ports>(
  operation: AnyOperation<Has>,
  http: OperationRoute,
  schemas: Record<string, Schema>,
): ApiOperation {
  const { summary, description, input, role } = operation
  const { query, body } = placesOf(input, http)
  const parameters = parametersOf(query, 'query')
  const hasBody = Object.keys(body).length > 0
  const isNeeded = formsOf(body).some(({ isRequired }) => isRequired)
  return {
    operationId: http.id,
    tags: [placeOf(operation).tag],
    summary,
    ...(description === undefined ? {} : { description }),
    // The role that the token has to include.
    security: [
      isOfClients(role) ? { portalToken: role === 'client' ? [] : [role] } : { operatorToken: [role] },
    ],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(hasBody
      ? {
          requestBody: {
            required: isNeeded,
            content: { 'application/json': { schema: bodySchema(body, http.body, schemas) } },
          },
        }
      : {}),
    responses: {
      [String(http.status ?? 200)]: answerOf(operation, schemas),
      ...(operation.isConditional === true ? { 304: NOT_MODIFIED } : {}),
      ...errors(...errorsOf(operation, hasBody)),
    },
  }
}

function errorsOf<Has extends Ports>(
  { errors = [], isLong = false, role }: AnyOperation<Has>,
  hasBody: boolean,
): readonly ErrorName[] {
  return [
    'invalid_request',
    'invalid_api_key',
    ...(role !== 'read' && role !== 'client' ? (['role_required'] as const) : []),
    'too_many_guesses',
    ...errors,
    ...(isLong && !errors.includes('conflict') ? (['conflict'] as const) : []),
    ...(hasBody ? (['body_too_large'] as const) : []),
    'storage_unavailable',
    'query_timeout',
  ]
}

function parametersOf(fields: OperationFields, place: 'path' | 'query'): Parameter[] {
  return formsOf(fields).map(({ name, isRequired, description, schema }) => ({
    name,
    in: place,
    required: isRequired,
    description,
    schema: schema as Schema,
    ...(schema.type === 'array' ? { style: 'form' as const, explode: false } : {}),
  }))
}

function bodySchema(
  fields: OperationFields,
  name: string | undefined,
  schemas: Record<string, Schema>,
): Schema {
  const schema = schemaOf(z.strictObject(fields), 'input', schemas)
  if (name === undefined) return schema
  schemas[name] = schema
  return { $ref: `#/components/schemas/${name}` }
}

function answerOf<Has extends Ports>(
  { answer, gives, input, isReport, isConditional, streams }: AnyOperation<Has>,
  schemas: Record<string, Schema>,
): Response {
  if (streams !== undefined) {
    const content = streams.map((type) => [type, { schema: { type: 'string' } }])
    return { description: gives, content: Object.fromEntries(content) }
  }
  const headers = {
    ...('cursor' in input ? { [NEXT_CURSOR]: NEXT_HEADER } : {}),
    ...(isReport === true ? { [AS_OF]: AGE_HEADER } : {}),
    ...(isConditional === true ? { etag: ETAG_HEADER } : {}),
  }
  return {
    ...json(gives, schemaOf(answer, 'output', schemas)),
    ...(Object.keys(headers).length > 0 ? { headers } : {}),
  }
}

const NEXT_HEADER = {
  description: 'The cursor of the items behind these. Absent: there are none.',
  schema: { type: 'string' },
}

const ETAG_HEADER = {
  description: 'Sent back as if-none-match, the answer is 304 while it would be the same.',
  schema: { type: 'string' },
}

const NOT_MODIFIED = { description: 'The answer is the one whose etag if-none-match names.' }

const AGE_HEADER = {
  description: 'A replica answered, which has everything that was counted by then. Absent: it is of now.',
  schema: { type: 'string', format: 'date-time' },
}

/** The JSON schema of a value. Schemas with a name move to the components. */
export function schemaOf(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, Schema>): Schema {
  const {
    $schema: _,
    $defs = {},
    ...rest
  } = z.toJSONSchema(schema, { io }) as Schema & {
    readonly $schema?: string
    readonly $defs?: Readonly<Record<string, Schema>>
  }
  for (const [id, named] of Object.entries($defs)) schemas[id] = referring(withoutId(named))
  return referring(withoutId(rest))
}

function withoutId<Named extends object>(named: Named): Named {
  const { id: _, ...rest } = named as Named & { readonly id?: unknown }
  return rest as Named
}

/** References point to the components of the document. */
function referring(schema: Schema): Schema {
  const text = JSON.stringify(schema, (member, value) => (member === VALUE ? undefined : value))
  return JSON.parse(text.replaceAll('"#/$defs/', '"#/components/schemas/'))
}
