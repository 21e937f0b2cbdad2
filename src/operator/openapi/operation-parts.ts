import { MAX_PAGE_LIMIT } from '../../domain/documents/page-limit.ts'
import { NEXT_CURSOR } from '../admin-answers.ts'
import { json } from './responses.ts'
import { ref, text } from './schema-parts.ts'
import type { ApiOperation, Content, Parameter, Response, Schema } from './types.ts'

const TOKEN: ApiOperation['security'] = [{ operatorToken: [] }]
/** Errors of every operation. */
export const COMMON = ['invalid_api_key', 'storage_unavailable', 'query_timeout'] as const

export const CLIENT: Parameter = {
  name: 'client',
  in: 'query',
  required: false,
  description: 'The name of a client; without it, all.',
  schema: { type: 'string' },
}

export function queryOption(name: string, description: string, schema: Schema): Parameter {
  return { name, in: 'query', required: false, description, schema }
}

/** A part of a list, and the next one. */
export const LIMIT = queryOption('limit', 'At most so many items; without it, all.', {
  type: 'integer',
  minimum: 1,
  maximum: MAX_PAGE_LIMIT,
})
export const CURSOR = queryOption(
  'cursor',
  'Goes on behind what an answer ended with: its header x-tallygate-next-cursor, which is the id of the last item.',
  { type: 'string' },
)

/** A JSON answer that may be a part of a list. */
export function part(description: string, schema: Schema): Response {
  const header = {
    description: 'The cursor of what comes behind; absent: nothing does.',
    schema: { type: 'string' },
  }
  return { ...json(description, schema), headers: { [NEXT_CURSOR]: header } }
}

export function id(of: string): Parameter {
  return { name: 'id', in: 'path', required: true, description: `The id of the ${of}.`, schema: text('') }
}

export function body(name: string, required: boolean): { required: boolean; content: Content } {
  return { required, content: { 'application/json': { schema: ref(name) } } }
}

/** An operation without what all of its kind have. */
export type Described = Pick<ApiOperation, 'operationId' | 'summary'> &
  Partial<ApiOperation> & { readonly responses: Readonly<Record<string, Response>> }

/** An operation that needs the operator's token. */
export function guarded(operation: Described): ApiOperation {
  return { tags: ['operators'], security: TOKEN, ...operation }
}
