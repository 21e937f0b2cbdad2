import { ref } from './schema-parts.ts'
import type { ApiOperation, Content, Parameter, Response } from './types.ts'

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
