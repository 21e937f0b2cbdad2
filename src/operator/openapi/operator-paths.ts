import { PROVIDERS } from '../../providers/registry.ts'
import { body, CLIENT, COMMON, type Described, guarded } from './operation-parts.ts'
import { errors, json } from './responses.ts'
import { ref, text } from './schema-parts.ts'
import type { ApiOperation, PathItem } from './types.ts'

function open(operation: Described): ApiOperation {
  return { tags: ['health'], security: [], ...operation }
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
  '/admin/v1/prices': {
    get: guarded({
      operationId: 'showPrices',
      summary: 'What a model costs at each upstream, and why; refused where gateways do not price alike.',
      parameters: [
        {
          name: 'model',
          in: 'query',
          required: true,
          description: 'As calls ask for it or answers report it.',
          schema: { type: 'string', minLength: 1 },
        },
        {
          name: 'provider',
          in: 'query',
          required: false,
          description:
            'At this provider, whether there is such an upstream or not; without it, at all upstreams.',
          schema: { enum: PROVIDERS },
        },
        { ...CLIENT, description: 'The name of a client whose markups are in; without it, none.' },
        {
          name: 'day',
          in: 'query',
          required: false,
          description: 'A UTC day; without it, today.',
          schema: { type: 'string', format: 'date' },
        },
      ],
      responses: {
        '200': json('Its prices; none: its calls are unpriced.', ref('ModelPrices')),
        ...errors('invalid_request', ...COMMON),
      },
    }),
  },
  '/admin/v1/prices/doubts/accept': {
    post: guarded({
      operationId: 'acceptPriceDoubt',
      summary: 'Takes a newer price that waits, for all gateways from the next UTC day on.',
      requestBody: body('PriceDoubtName', true),
      responses: {
        '200': json('What was taken.', ref('AcceptedPrices')),
        ...errors('invalid_request', ...COMMON),
      },
    }),
  },
}
