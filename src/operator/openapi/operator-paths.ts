import { errors, json } from './responses.ts'
import { object, ref, text } from './schema-parts.ts'
import type { ApiOperation, PathItem, Response } from './types.ts'

/** An operation without what all of its kind have. */
type Described = Pick<ApiOperation, 'operationId' | 'summary'> & {
  readonly responses: Readonly<Record<string, Response>>
}

function open(operation: Described): ApiOperation {
  return {
    tags: ['health'],
    security: [],
    ...operation,
    responses: { ...operation.responses, ...errors('invalid_request') },
  }
}

/** Health, the same on both listeners. */
export const HEALTH_PATHS: Readonly<Record<string, PathItem>> = {
  '/healthz': {
    get: open({
      operationId: 'getHealth',
      summary: 'Whether the process runs.',
      responses: { '200': json('It does.', ref('Alive')) },
    }),
  },
  '/readyz': {
    get: open({
      operationId: 'getReadiness',
      summary: 'Whether calls can be taken.',
      responses: {
        '200': json('They can.', ref('Readiness')),
        '503': json('They cannot.', ref('Readiness')),
      },
    }),
  },
}

/** Everything that the operator's listener alone answers. */
export const OPERATOR_PATHS: Readonly<Record<string, PathItem>> = {
  '/metrics': {
    get: open({
      operationId: 'getMetrics',
      summary: 'Metrics of this process, for Prometheus.',
      responses: {
        '200': { description: "Prometheus's text format.", content: { 'text/plain': { schema: text('') } } },
      },
    }),
  },
  '/openapi.json': {
    get: open({
      operationId: 'getOpenApi',
      summary: 'This document.',
      responses: { '200': json('OpenAPI 3.1.', { type: 'object' }) },
    }),
  },
  '/dashboard': {
    get: open({
      operationId: 'getDashboard',
      summary: 'A page for people; it asks for the operator’s token.',
      responses: {
        '200': { description: 'The page.', content: { 'text/html': { schema: text('') } } },
        ...errors('not_found'),
      },
    }),
  },
}

const SESSION = object({
  token: text('The token.'),
  client: text('The name of the client.'),
  expires_at: text('The end of the token.', { format: 'date-time' }),
})

/** What the listener of the clients' page answers beside what clients ask about themselves. */
export const PORTAL_PATHS: Readonly<Record<string, PathItem>> = {
  '/portal': {
    get: open({
      operationId: 'getPortal',
      summary: 'A page for clients; it asks for a key.',
      responses: { '200': { description: 'The page.', content: { 'text/html': { schema: text('') } } } },
    }),
  },
  '/portal/v1/session': {
    post: {
      operationId: 'signIn',
      tags: ['portal'],
      summary:
        'Exchanges a key for a token that shows the figures of its client, for 12 hours or as long as the key.',
      security: [{ bearerKey: [] }],
      responses: {
        '201': json('The token, shown this once.', SESSION),
        ...errors(
          ...(['invalid_request', 'invalid_api_key', 'key_inactive', 'client_disabled'] as const),
          ...(['too_many_guesses', 'storage_unavailable'] as const),
        ),
      },
    },
    delete: {
      operationId: 'signOut',
      tags: ['portal'],
      summary: 'Ends the token.',
      security: [{ portalToken: [] }],
      responses: {
        '204': { description: 'It is ended.' },
        ...errors('invalid_request', 'invalid_api_key', 'too_many_guesses', 'storage_unavailable'),
      },
    },
  },
}
