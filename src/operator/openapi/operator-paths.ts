import { errors, json } from './responses.ts'
import { ref, text } from './schema-parts.ts'
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
