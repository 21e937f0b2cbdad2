import { UNPRICED_REASONS } from '../../call/unpriced-reason.ts'
import { count, list, nullableText, object, ref, text, time } from './schema-parts.ts'
import type { Schema } from './types.ts'

const FIGURES: Readonly<Record<string, Schema>> = {
  requests: count('Calls that were sent upstream, each once, however it ended.'),
  input_tokens: count('Every prompt token, cached ones included.'),
  output_tokens: count('Every generated token, reasoning included.'),
  total_tokens: count('input_tokens + output_tokens.'),
  avg_latency_ms: {
    type: 'number',
    minimum: 0,
    description:
      "From a request's arrival to the upstream's last byte, over the calls that got an upstream response; 0 when there were none.",
  },
  cost_usd: {
    type: 'number',
    description:
      'The JSON number nearest to a sum that is exact to 1e-12 USD. What has no price adds nothing.',
  },
}

const PERIOD_DAYS: Schema = {
  type: 'integer',
  minimum: 1,
  maximum: 365,
  description: 'UTC days, today included.',
}

const DAY = text('YYYY-MM-DD, UTC.', { format: 'date' })
const MODEL = text('The model that answered; a name in parentheses stands for several.')
const KEY_ID = text('The id of the key.')
const KEY_NAME: Schema = { type: ['string', 'null'], description: 'Its label; null: it is no longer known.' }

/** How complete a group's cost and tokens are. */
const DOUBTS = [
  'unpriced',
  'partly_unpriced',
  'estimated',
  'unpriced_input_tokens',
  'unpriced_output_tokens',
  'estimated_input_tokens',
  'estimated_output_tokens',
]

/** The schemas of usage. */
export const USAGE_SCHEMAS: Readonly<Record<string, Schema>> = {
  Usage: object(
    {
      client: text('The name of the client that the key belongs to.'),
      period_days: PERIOD_DAYS,
      ...FIGURES,
      data: { ...list(ref('UsageGroup')), description: 'Only with group_by.' },
    },
    ['data'],
  ),
  UsageGroup: object({ day: DAY, model: MODEL, key_id: KEY_ID, key_name: KEY_NAME, ...FIGURES }, [
    'day',
    'model',
    'key_id',
    'key_name',
  ]),
  OperatorUsage: object(
    {
      day: DAY,
      model: MODEL,
      key_id: KEY_ID,
      key_name: KEY_NAME,
      client: { type: ['string', 'null'], description: 'The name of a client; null: all of them.' },
      period_days: PERIOD_DAYS,
      ...FIGURES,
      unpriced: count('Calls without a cost: what they cost is in no sum. Only with a grouping.'),
      partly_unpriced: count('Calls of whose use a part has no price. Only with a grouping.'),
      estimated: count('Calls whose tokens were counted here, not reported. Only with a grouping.'),
      unpriced_input_tokens: count('Of input_tokens, those of calls without a cost. Only with a grouping.'),
      unpriced_output_tokens: count('Of output_tokens, those of calls without a cost. Only with a grouping.'),
      estimated_input_tokens: count('Of input_tokens, those that were counted here. Only with a grouping.'),
      estimated_output_tokens: count('Of output_tokens, those that were counted here. Only with a grouping.'),
    },
    ['day', 'model', 'key_id', 'key_name', ...DOUBTS],
  ),
  Job: object({
    id: text("The upstream's id of it."),
    kind: text('batch, response, video, ...'),
    upstream: text('Where it runs.'),
    client: text('The name of the client that submitted it.'),
    key_id: text('The key that it was submitted with.'),
    model: { type: ['string', 'null'], description: 'What the request named; null: none.' },
    created_at: time('When it was submitted.'),
  }),
  UnpricedUse: object(
    {
      model: MODEL,
      provider: text('The provider of the upstream.'),
      upstream: text('The name of the upstream.'),
      service_tier: nullableText(
        'As the upstream named it; null: it named none, or the single calls are not kept.',
      ),
      method: nullableText('Of these calls; null: the single calls are not kept.'),
      path: nullableText('Of these calls, ids in it as {id}; null as method.'),
      reason: {
        description:
          'Why they have no cost; null: not known, as the single calls are not kept or an older release metered them.',
        type: ['string', 'null'],
        enum: [...UNPRICED_REASONS, null],
      },
      calls: count('Calls without a cost.'),
      input_tokens: FIGURES.input_tokens ?? {},
      output_tokens: FIGURES.output_tokens ?? {},
      first_day: DAY,
      last_day: DAY,
      has_price_now: {
        type: ['boolean', 'null'],
        description:
          'Calls of now have one: the past can be corrected with prices reprice. null: gateways do not price alike.',
      },
      requested_model: text('What the requests named, where the model is (unknown).'),
    },
    ['requested_model'],
  ),
}
