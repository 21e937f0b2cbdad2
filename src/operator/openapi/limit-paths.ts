import { REFUSED_GROUPS } from '../../limits/table/refused-calls.ts'
import { MOST_LISTED } from '../limits/admin-limit-lists.ts'
import { DAYS } from './client-paths.ts'
import { body, CLIENT, COMMON, CURSOR, guarded, id, LIMIT, part } from './operation-parts.ts'
import { errors, json } from './responses.ts'
import { list, ref } from './schema-parts.ts'
import type { Parameter, PathItem } from './types.ts'

const MOST: Parameter = {
  ...LIMIT,
  description: `At most so many items, and never more than ${MOST_LISTED}.`,
}
const SENT = ['invalid_request', ...COMMON, 'not_found', 'body_too_large'] as const

/** Limits of clients, and what they refused. */
export const LIMIT_PATHS: Readonly<Record<string, PathItem>> = {
  '/admin/v1/limits': {
    get: guarded({
      operationId: 'listLimits',
      summary: 'Limits, and what is spent and left of budgets.',
      description: 'With a client: those that hold for it, defaults included, with what it spent of them.',
      parameters: [CLIENT, MOST, CURSOR],
      responses: {
        '200': part('The limits.', list(ref('Limit'))),
        ...errors('invalid_request', ...COMMON, 'not_found'),
      },
    }),
    post: guarded({
      operationId: 'setLimit',
      summary: 'Sets a limit, in the place of the one like it: sent twice, there is one.',
      requestBody: body('NewLimit', true),
      responses: { '200': json('The limit as it stands.', ref('Limit')), ...errors(...SENT) },
    }),
  },
  '/admin/v1/limits/{id}': {
    parameters: [id('limit')],
    put: guarded({
      operationId: 'changeLimit',
      summary: 'Changes what a limit allows. A raise stays.',
      requestBody: body('LimitChange', true),
      responses: { '200': json('The limit as it stands.', ref('Limit')), ...errors(...SENT) },
    }),
    delete: guarded({
      operationId: 'removeLimit',
      summary: 'Lifts a limit.',
      responses: { '200': json('The limit as it was.', ref('Limit')), ...errors(...COMMON, 'not_found') },
    }),
  },
  '/admin/v1/limits/{id}/raise': {
    parameters: [id('limit')],
    post: guarded({
      operationId: 'raiseLimit',
      summary: 'Allows more until a time; then the limit holds as before.',
      requestBody: body('LimitRaise', true),
      responses: { '200': json('The limit as it stands.', ref('Limit')), ...errors(...SENT) },
    }),
  },
  '/admin/v1/limits/{id}/top-up': {
    parameters: [id('limit')],
    post: guarded({
      operationId: 'topUpBudget',
      summary: 'Adds to a budget in total, for good.',
      requestBody: body('TopUp', true),
      responses: { '200': json('The limit as it stands.', ref('Limit')), ...errors(...SENT) },
    }),
  },
  '/admin/v1/limits/history': {
    get: guarded({
      operationId: 'listLimitChanges',
      summary: 'Who changed which limit, when, and from what to what; the newest first.',
      parameters: [CLIENT, MOST, CURSOR],
      responses: {
        '200': part('The changes.', list(ref('LimitHistory'))),
        ...errors('invalid_request', ...COMMON, 'not_found'),
      },
    }),
  },
  '/admin/v1/refused': {
    get: guarded({
      operationId: 'listRefused',
      summary: 'Calls that limits refused, most calls first. They are in no usage.',
      parameters: [
        DAYS,
        {
          name: 'group_by',
          in: 'query',
          required: false,
          description: 'Counts them apart; without it, one sum.',
          style: 'form',
          explode: false,
          schema: { type: 'array', items: { enum: REFUSED_GROUPS }, minItems: 1 },
        },
      ],
      responses: {
        '200': json('The sums.', list(ref('RefusedCalls'))),
        ...errors('invalid_request', ...COMMON),
      },
    }),
  },
}
