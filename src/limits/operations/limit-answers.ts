import { z } from 'zod'
import {
  shownChoice,
  shownChoiceOrNull,
  shownCount,
  shownDay,
  shownDayOrNull,
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import type { Listing } from '../../operations/operation.ts'
import { BUDGET_PERIODS, LIMIT_KINDS, WHEN_ALONE } from '../limit.ts'
import { describeSort } from '../limit-document.ts'
import { LIMIT_ACTIONS } from '../table/limit-changes.ts'

const AMOUNT = 'US dollars as exact text for a budget, else a whole number'

export const TERMS = {
  key: shownTextOrNull('The id of the key that the limit is for. null: all keys of the client.'),
  former_keys: shownList(
    z.string(),
    'The ids of keys that were rotated into this one. Their calls count too.',
  ),
  model: shownTextOrNull('A name, with its revisions, or a beginning of names and *. null: every model.'),
  group: shownTextOrNull('The id of the group whose clients are limited together. null: no group.'),
  axis: shownTextOrNull('The axis whose values are limited, each apart. null: all calls together.'),
  value: shownTextOrNull('The value that is limited. null: each that has no limit of its own like it.'),
  kind: shownChoice(
    LIMIT_KINDS,
    'budget: US dollars; requests, tokens: a minute; concurrent: calls at once.',
  ),
  limit: amountOf(`${AMOUNT}.`),
  per: shownChoiceOrNull(BUDGET_PERIODS, 'The period of a budget, in UTC. total: prepaid.'),
  soft: shownFlag('The limit alerts and refuses nothing.'),
  raised_to: amountOf(`${AMOUNT}. null: the limit is not raised.`).nullable(),
  raised_until: shownMomentOrNull('The end of the raise. null: the limit is not raised.'),
  since: shownDayOrNull('The first day that counts for a budget in total.'),
  cached: shownChoiceOrNull(['count', 'ignore'], 'Whether cached prompt tokens count for a limit of tokens.'),
  unpriced: shownChoiceOrNull(
    ['allow', 'refuse'],
    'Whether calls of models without a price pass a hard budget.',
  ),
  when_alone: shownChoiceOrNull(
    WHEN_ALONE,
    'What a gateway does with calls beyond its share of a hard budget while Redis is away.',
  ),
}

function amountOf(description: string) {
  return z.union([z.string(), z.number().meta({ type: 'integer' })]).describe(description)
}

export const SHOWN_LIMIT = shownDocument('Limit', {
  id: shownText('The number of the limit, which no other limit ever has.'),
  client: shownTextOrNull('The name of the client. null: the default of all clients that have none like it.'),
  ...TERMS,
  spent_usd: shownTextOrNull('What was spent of a budget in its period of now. null: it is of no client.'),
  charged_usd: shownTextOrNull('The part of spent_usd that is reserved by calls whose cost is not known.'),
  left_usd: shownTextOrNull('What is left of a budget, 0 at least, a raise included.'),
  period_from: shownDayOrNull('The first UTC day of the period.'),
  period_to: shownDayOrNull('The last UTC day of the period. null: it has none.'),
})

export type LimitDocument = z.output<typeof SHOWN_LIMIT>

/** Terms of older releases lack what came later. */
const RECORDED_TERMS = shownDocument('LimitTerms', {
  ...TERMS,
  former_keys: TERMS.former_keys.optional(),
  when_alone: TERMS.when_alone.optional(),
  group: TERMS.group.optional(),
  axis: TERMS.axis.optional(),
  value: TERMS.value.optional(),
})

export const LIMIT_CHANGE = shownDocument('LimitHistory', {
  id: shownText('The number of the change.'),
  at: shownMoment('The time of the change.'),
  who: shownText('A user of the command line, or ADMIN_TOKEN and the address it came from.'),
  action: shownChoice(LIMIT_ACTIONS, 'What was done.'),
  limit: shownText('The id of the limit.'),
  client: shownTextOrNull('The name of the client of the limit. null: a default.'),
  before: RECORDED_TERMS.nullable(),
  after: RECORDED_TERMS.nullable(),
  reference: shownTextOrNull('The name of a payment.'),
})

export const REFUSED_CALLS = shownDocument('RefusedCalls', {
  day: shownDay('The UTC day. Absent: the calls are not grouped by day.').optional(),
  client: shownText(
    "The name of the client; '': not known. Absent: they are not grouped by client.",
  ).optional(),
  reason: shownText(
    'requests, tokens, concurrent, budget, reserved, unknown_key, key_revoked, .... Absent: the calls are not grouped by reason.',
  ).optional(),
  key: shownText("The id of the key; '': not known. Absent: the calls are not grouped by key.").optional(),
  model: shownText(
    "The model asked for; '': none was read. Absent: they are not grouped by model.",
  ).optional(),
  limit: shownText(
    "The id of the limit that refused them; '': none. Absent: not grouped by limit.",
  ).optional(),
  calls: shownCount('Calls that never went upstream.'),
})

/** Limits as the command line prints them. */
export const LIMIT_LISTING: Listing<LimitDocument> = {
  empty: 'There is no limit. Set one: limits set --help',
  columns: [
    { heading: 'ID', align: 'right', cell: ({ id }) => id },
    { heading: 'CLIENT', cell: ({ client, group }) => client ?? group ?? '(default)' },
    { heading: 'KEY', cell: ({ key }) => key ?? '' },
    { heading: 'MODEL', cell: ({ model }) => model ?? '' },
    { heading: 'OF', cell: describeValues },
    { heading: 'LIMIT', cell: describeLimit },
    { heading: 'SPENT USD', align: 'right', cell: ({ spent_usd: spent }) => spent ?? '' },
    { heading: 'LEFT USD', align: 'right', cell: ({ left_usd: left }) => left ?? '' },
    {
      heading: 'PERIOD',
      cell: ({ spent_usd: spent, period_from: from, period_to: to }) =>
        spent === null ? '' : `${from} to ${to ?? '...'}`,
    },
  ],
}

function describeValues({ axis, value }: Pick<LimitDocument, 'axis' | 'value'>): string {
  return axis === null ? '' : value === null ? `each ${axis}` : `${axis}=${value}`
}

type LimitInWords = Pick<
  LimitDocument,
  | ('kind' | 'per' | 'limit' | 'soft' | 'since' | 'cached' | 'unpriced' | 'when_alone')
  | ('raised_to' | 'raised_until')
>

/** A limit in words, with a raise that holds: `10 USD: budget a month, raised to 20 until 2026-12-01T00:00Z`. */
export function describeLimit(limit: LimitInWords): string {
  const { kind, per, raised_to: raisedTo, raised_until: until } = limit
  const amount = kind === 'budget' ? `${limit.limit} USD:` : `${limit.limit}`
  return [
    `${amount} ${describeSort({ kind, per, isSoft: limit.soft })}`,
    ...(limit.since === null ? [] : [`since ${limit.since}`]),
    ...(limit.cached === 'ignore' ? ['cached ones not counted'] : []),
    ...(limit.unpriced === 'allow' ? ['unpriced models pass'] : []),
    ...(limit.when_alone === 'share' ? ['goes on when alone'] : []),
    ...(until === null ? [] : [`raised to ${raisedTo} until ${until.slice(0, 16)}Z`]),
  ].join(', ')
}

export const CHANGE_LISTING: Listing<z.output<typeof LIMIT_CHANGE>> = {
  empty: 'No limit was ever set.',
  columns: [
    { heading: 'AT', cell: ({ at }) => `${at.slice(0, 19)}Z` },
    { heading: 'WHO', cell: ({ who }) => who },
    { heading: 'ACTION', cell: ({ action }) => action },
    { heading: 'LIMIT', cell: ({ limit }) => limit },
    { heading: 'CLIENT', cell: ({ client }) => client ?? '(default)' },
    { heading: 'BEFORE', cell: ({ before }) => shortTerms(before) },
    { heading: 'AFTER', cell: ({ after }) => shortTerms(after) },
  ],
}

/** The terms that are set, in one line. */
function shortTerms(terms: object | null): string {
  if (terms === null) return '-'
  return Object.entries(terms)
    .filter(([, value]) => value !== null && value !== false && `${value}` !== '')
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')
}
