import { PERIOD_FORM, PERIOD_NAMES } from '../../domain/period.ts'
import { CALL_ERROR_NAMES } from '../../http/errors.ts'
import { AS_OF } from '../../usage/query/answer-usage.ts'
import { CLIENT_GROUPS } from '../../usage/query/usage-query.ts'
import { callErrors, errors, json } from './responses.ts'
import { list, ref, text } from './schema-parts.ts'
import type { ApiOperation, Parameter, PathItem, Schema } from './types.ts'

/** Any one of the places where clients' libraries put a key. */
const CLIENT_KEY: ApiOperation['security'] = [
  { bearerKey: [] },
  { xApiKey: [] },
  { apiKey: [] },
  { xGoogApiKey: [] },
  { queryKey: [] },
]

const KEY_ERRORS = [
  ...(['invalid_api_key', 'signature_does_not_match', 'request_time_too_skewed'] as const),
  ...(['key_inactive', 'client_disabled'] as const),
]

/** The UTC days of the usage query. */
const DAYS: Parameter = {
  name: 'days',
  in: 'query',
  required: false,
  description: 'UTC days: today and those before. Written plainly, once.',
  schema: { type: 'integer', minimum: 1, maximum: 365, default: 30 },
}

const WHOLE_UNTIL = {
  [AS_OF]: {
    description:
      'The answer has all calls that ended by then, and may lack later ones. Absent: it lacks none.',
    schema: text('A moment, in UTC.', { format: 'date-time' }),
  },
}

/** Whatever else Google's own list says of it. */
const GOOGLE_MODEL: Schema = {
  type: 'object',
  properties: { name: text('Begins with models/.'), displayName: text('For people.') },
  required: ['name', 'displayName'],
}

const GOOGLE_MODELS: Schema = {
  type: 'object',
  properties: { models: list(GOOGLE_MODEL) },
  required: ['models'],
}

/** Whatever else Anthropic's own list says of it. */
const ANTHROPIC_MODEL: Schema = {
  type: 'object',
  properties: {
    type: { const: 'model' },
    id: text('What calls name it by.'),
    display_name: text('For people.'),
  },
  required: ['type', 'id', 'display_name'],
}

const ANTHROPIC_MODELS: Schema = {
  type: 'object',
  properties: { data: list(ANTHROPIC_MODEL), has_more: { const: false } },
  required: ['data', 'has_more'],
}

const MODEL_ID: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'The rest of the path, slashes included.',
  schema: text('An id from the list.'),
}

/** The list at `path`, and one model of it; `ending` tells the operations apart. */
function modelPaths(
  path: string,
  ending: string,
  many: Schema,
  one: Schema,
): Readonly<Record<string, PathItem>> {
  const operation = { tags: ['clients'], security: CLIENT_KEY }
  return {
    [path]: {
      get: {
        ...operation,
        operationId: `listModels${ending}`,
        summary:
          'The models that this key may use, to libraries of Anthropic and Google as those expect them.',
        responses: {
          '200': json('From memory: no upstream is asked.', many),
          ...callErrors(...KEY_ERRORS, 'storage_unavailable'),
        },
      },
    },
    [`${path}/{id}`]: {
      parameters: [MODEL_ID],
      get: {
        ...operation,
        operationId: `getModel${ending}`,
        summary: 'One of those models.',
        responses: {
          '200': json('The model.', one),
          ...callErrors(...KEY_ERRORS, 'not_found', 'storage_unavailable'),
        },
      },
    },
  }
}

/** Everything under the clients' base URL. */
export const CLIENT_PATHS: Readonly<Record<string, PathItem>> = {
  ...modelPaths(
    '/v1/models',
    '',
    { anyOf: [ref('ModelList'), ANTHROPIC_MODELS, GOOGLE_MODELS] },
    { anyOf: [ref('Model'), ANTHROPIC_MODEL, GOOGLE_MODEL] },
  ),
  ...modelPaths('/v1beta/models', 'AsGoogle', GOOGLE_MODELS, GOOGLE_MODEL),
  '/v1/usage': {
    get: {
      operationId: 'getUsage',
      tags: ['clients'],
      summary: 'What the client of this key used, by whichever of its keys, and what it cost.',
      description:
        'A finished call is in it within two seconds. No usage is zeros, not an error. A parameter that is not listed here is refused.',
      security: CLIENT_KEY,
      parameters: [
        DAYS,
        {
          name: 'group_by',
          in: 'query',
          required: false,
          description:
            'Adds the same figures for each group; changes nothing else. `by` is another name of it.',
          style: 'form',
          explode: false,
          schema: { type: 'array', items: { enum: CLIENT_GROUPS }, minItems: 1, uniqueItems: true },
        },
        {
          name: 'period',
          in: 'query',
          required: false,
          description: `In place of days: ${PERIOD_NAMES.join(', ')} (month: the calendar month to date), or a calendar month that has begun, in UTC.`,
          schema: { type: 'string', pattern: PERIOD_FORM.source },
        },
        {
          name: 'include',
          in: 'query',
          required: false,
          description:
            'limits: adds the limits of calls with this key and what is left; changes nothing else.',
          schema: { enum: ['limits'] },
        },
      ],
      responses: {
        '200': {
          ...json('The summary.', ref('Usage')),
          headers: WHOLE_UNTIL,
        },
        ...errors('invalid_request', 'query_timeout'),
        ...callErrors(...KEY_ERRORS, 'storage_unavailable'),
      },
    },
  },
  '/v1/usage/calls/{id}': {
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'The id of x-tallygate-call-id, or of the answer.',
        schema: { type: 'string', minLength: 1, maxLength: 100 },
      },
    ],
    get: {
      operationId: 'getReceipt',
      tags: ['clients'],
      summary: 'What one call of the client of this key used, and what it cost, line by line.',
      description: 'A finished call has one within two seconds, as long as single calls are kept.',
      security: CLIENT_KEY,
      responses: {
        '200': { ...json('The receipt.', ref('Receipt')), headers: WHOLE_UNTIL },
        ...errors('invalid_request', 'not_found', 'query_timeout'),
        ...callErrors(...KEY_ERRORS, 'storage_unavailable'),
      },
    },
  },
  '/{upstream_path}': {
    parameters: [
      {
        name: 'upstream_path',
        in: 'path',
        required: true,
        description: 'Any path, slashes included, and any query.',
        schema: { type: 'string' },
      },
    ],
    post: {
      operationId: 'call',
      tags: ['clients'],
      summary: 'Everything else goes upstream, whatever the method, byte for byte, and is metered.',
      description:
        "The answer is the upstream's own. What stands here is what the gateway answers itself; its errors are written as the client library of the path reads them.",
      security: CLIENT_KEY,
      responses: {
        '2XX': {
          description: 'As the upstream answered.',
          headers: {
            'x-tallygate-call-id': {
              description: 'The id of the call in the table `calls`.',
              schema: text('A UUID.', { format: 'uuid' }),
            },
          },
        },
        ...callErrors(...CALL_ERROR_NAMES),
      },
    },
  },
}
