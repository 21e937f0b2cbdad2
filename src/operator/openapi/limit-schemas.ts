import { BUDGET_PERIODS, LIMIT_KINDS, WHEN_ALONE } from '../../limits/limit.ts'
import { RAISE_END_FORMS } from '../../limits/raise-end.ts'
import { LIMIT_ACTIONS } from '../../limits/table/limit-changes.ts'
import { count, nullableText, object, ref, text, time, timeOrNull } from './schema-parts.ts'
import type { Schema } from './types.ts'

const KIND: Schema = {
  enum: LIMIT_KINDS,
  description: 'budget: US dollars; requests, tokens: a minute; concurrent: calls at once.',
}
const AMOUNT: Schema = {
  type: ['string', 'integer'],
  description: 'US dollars as exact text of a budget; else a whole number.',
}
const SENT_AMOUNT: Schema = {
  type: ['string', 'number'],
  description: 'US dollars of a budget, as text where they have to be exact; else a whole number.',
}
const DAY: Schema = { type: ['string', 'null'], format: 'date' }

const TERMS: Readonly<Record<string, Schema>> = {
  key: nullableText('The id of the key that it is for; null: all of the client.'),
  former_keys: {
    type: 'array',
    items: text('The id of a key.'),
    description: 'Keys that were rotated into it; their calls count too.',
  },
  model: nullableText('A name, with its revisions, or a beginning of names and *; null: every model.'),
  kind: KIND,
  limit: AMOUNT,
  per: { enum: [...BUDGET_PERIODS, null], description: 'Of a budget: its period, in UTC; total: prepaid.' },
  soft: { type: 'boolean', description: 'It alerts and refuses nothing.' },
  raised_to: { ...AMOUNT, type: ['string', 'integer', 'null'] },
  raised_until: timeOrNull('null: it is not raised.'),
  since: { ...DAY, description: 'Of a budget in total: the first day that counts.' },
  cached: { enum: ['count', 'ignore', null], description: 'Of tokens: whether cached prompt tokens count.' },
  unpriced: {
    enum: ['allow', 'refuse', null],
    description: 'Of a hard budget: whether calls of models without a price pass.',
  },
  when_alone: {
    enum: [...WHEN_ALONE, null],
    description: 'Of a hard budget: what a gateway does with calls beyond its share while Redis is away.',
  },
}
const ANY_TERMS: Schema = { anyOf: [ref('LimitTerms'), { type: 'null' }] }

const SETTINGS: Readonly<Record<string, Schema>> = {
  limit: SENT_AMOUNT,
  since: text('Of a budget in total: the first UTC day that counts; new and without it: today.', {
    format: 'date',
  }),
  cached: { enum: ['count', 'ignore'], description: 'Of tokens; new and without it: count.' },
  unpriced: { enum: ['allow', 'refuse'], description: 'Of a hard budget; new and without it: refuse.' },
  when_alone: { enum: WHEN_ALONE, description: 'Of a hard budget; new and without it: refuse.' },
}

/** The schemas of limits. */
export const LIMIT_SCHEMAS: Readonly<Record<string, Schema>> = {
  Limit: object({
    id: text('Its number, which no other limit ever has.'),
    client: nullableText('The name of the client; null: the default of all that have none like it.'),
    ...TERMS,
    spent_usd: nullableText('Of a budget: spent in its period of now; null: of no client.'),
    charged_usd: nullableText('Of spent_usd: reserved by calls whose cost is not known.'),
    left_usd: nullableText('What is left of it, 0 at least, a raise included.'),
    period_from: { ...DAY, description: 'The first UTC day of the period.' },
    period_to: { ...DAY, description: 'Its last one; null: it has none.' },
  }),
  LimitTerms: object(TERMS, ['former_keys', 'when_alone']),
  NewLimit: object(
    {
      client: nullableText('The name of a client; null: the default of all that have none like it.'),
      key: text('The id of one of its keys.'),
      model: text('A name, with its revisions, or a beginning of names and *.'),
      kind: KIND,
      per: { enum: BUDGET_PERIODS, description: 'Of a budget, where it has to be.' },
      soft: { type: 'boolean', description: 'Of a budget: it alerts and refuses nothing.', default: false },
      ...SETTINGS,
    },
    ['key', 'model', 'per', 'soft', 'since', 'cached', 'unpriced', 'when_alone'],
  ),
  LimitChange: object(SETTINGS, ['since', 'cached', 'unpriced', 'when_alone']),
  LimitRaise: object({
    to: SENT_AMOUNT,
    until: text(`${RAISE_END_FORMS.charAt(0).toUpperCase()}${RAISE_END_FORMS.slice(1)}.`),
  }),
  TopUp: object(
    {
      add_usd: { ...SENT_AMOUNT, description: 'US dollars; below 0 takes away.' },
      reference: text('Names the payment, which counts once, however often it is sent.'),
    },
    ['reference'],
  ),
  LimitHistory: object({
    id: text('The number of the change.'),
    at: time('When.'),
    who: text('A user of the command line, or ADMIN_TOKEN and the address it came from.'),
    action: { enum: LIMIT_ACTIONS },
    limit: text('The id of the limit.'),
    client: nullableText('The name of its client; null: a default.'),
    before: ANY_TERMS,
    after: ANY_TERMS,
    reference: nullableText('Of a payment.'),
  }),
  RefusedCalls: object({
    day: { ...DAY, description: 'null: not grouped by it.' },
    client: nullableText('Its name; null: not grouped by it.'),
    reason: nullableText('requests, tokens, concurrent, budget, reserved, ...; null: not grouped by it.'),
    calls: count('Calls that never went upstream.'),
  }),
}
