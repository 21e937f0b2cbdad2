import { z } from 'zod'
import { UNPRICED_REASONS } from '../../call/unpriced-reason.ts'
import { periodOf } from '../../domain/period.ts'
import { GatewayError } from '../../http/errors.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { daysField } from '../../operations/fields.ts'
import { type Column, renderedOperation } from '../../operations/operation.ts'
import { renderListing } from '../../operations/table.ts'
import {
  describePriceSource,
  type PricePorts,
  type PricesInForce,
} from '../../pricing/operations/prices-in-force.ts'
import {
  type CheckedUse,
  checkPrices,
  couldBePriced,
  type HasPrice,
  nameUnpriced,
  renderUnpriced,
  selectUnpricedUse,
} from '../unpriced-use.ts'

export interface UnpricedPorts extends PricePorts {
  /** How many single calls are read at most; absent: as many as a page may wait for. */
  readonly mostUnpricedCalls?: bigint
}

const UNPRICED_USE = shownDocument('UnpricedUse', {
  model: shownText('The model that answered. A name in parentheses stands for several.'),
  provider: shownText('The provider of the upstream.'),
  upstream: shownText('The name of the upstream.'),
  service_tier: shownTextOrNull(
    'As the upstream named it. null: it named none, or the single calls are not kept.',
  ),
  method: shownTextOrNull('The method of these calls. null: the single calls are not kept.'),
  path: shownTextOrNull('The path of these calls, ids in it as {id}. null: as method.'),
  reason: z
    .string()
    .nullable()
    .meta({
      anyOf: undefined,
      type: ['string', 'null'],
      enum: [...UNPRICED_REASONS, null],
      description:
        'Why they have no cost. null: not known, as the single calls are not kept or an older release metered them.',
    }),
  calls: shownCount('Calls without a cost.'),
  input_tokens: shownCount('Every prompt token, cached ones included.'),
  output_tokens: shownCount('Every generated token, reasoning included.'),
  first_day: shownDay('The UTC day of the first of them.'),
  last_day: shownDay('The UTC day of the last of them.'),
  has_price_now: z
    .boolean()
    .nullable()
    .describe(
      'Calls of now have one: the past can be corrected with prices reprice. null: gateways do not price alike.',
    ),
  requested_model: shownText('What the requests named, where the model is (unknown).').optional(),
})

interface FoundUnpriced {
  readonly rows: readonly CheckedUse[]
  /** `null`: gateways price differently, which a server only reports. */
  readonly by: PricesInForce | null
}

export const listUnpriced = renderedOperation({
  name: 'prices.check',
  summary: 'Shows calls without a cost, by model, path and reason, those with most calls first.',
  role: 'read',
  http: { method: 'GET', path: '/unpriced', id: 'listUnpriced' },
  input: { days: daysField() },
  answer: shownList(UNPRICED_USE),
  gives: 'The calls.',
  isReport: true,
  isPriced: true,
  async run({ read, now, findPrices, mostUnpricedCalls }: UnpricedPorts, { days }) {
    const nowMs = now()
    const { fromDay } = periodOf(days, nowMs)
    const [uses, by] = await Promise.all([
      read((from) => selectUnpricedUse(from, fromDay, mostUnpricedCalls)),
      findPrices().catch(nullWhereRefused),
    ])
    const hasPrice: HasPrice | null =
      by === null
        ? null
        : (provider, upstream, model, tier) =>
            by.config.catalog.knowsModel(provider, upstream, model, nowMs, tier)
    return { rows: checkPrices(uses, hasPrice), by }
  },
  render: ({ rows }: FoundUnpriced) => rows.map(renderUnpriced),
  command: { words: 'prices check', print: unpricedText },
})

/** A server says where gateways disagree as an error of the request; the command line as its own failure. */
function nullWhereRefused(error: unknown): null {
  if (error instanceof GatewayError && error.error === 'conflict') return null
  throw error
}

const RIGHT = { align: 'right' } as const

const COLUMNS: readonly Column<CheckedUse>[] = [
  { heading: 'MODEL', cell: nameUnpriced },
  { heading: 'PROVIDER', cell: ({ provider }) => provider },
  { heading: 'UPSTREAM', cell: ({ upstream }) => upstream },
  { heading: 'TIER', cell: ({ serviceTier }) => serviceTier ?? '-' },
  { heading: 'CALL', cell: ({ method, path }) => (path === null ? '-' : `${method} ${path}`) },
  { heading: 'REASON', cell: ({ reason }) => reason ?? '-' },
  { heading: 'CALLS', ...RIGHT, cell: ({ calls }) => `${calls}` },
  { heading: 'INPUT', ...RIGHT, cell: ({ inputTokens }) => `${inputTokens}` },
  { heading: 'OUTPUT', ...RIGHT, cell: ({ outputTokens }) => `${outputTokens}` },
  { heading: 'FIRST', cell: ({ firstDay }) => firstDay },
  { heading: 'LAST', cell: ({ lastDay }) => lastDay },
  { heading: 'PRICE NOW', cell: ({ hasPriceNow }) => (hasPriceNow === true ? 'yes' : 'no') },
]

function unpricedText({ rows, by }: FoundUnpriced, { days }: { readonly days: number }): string {
  if (rows.length === 0) return `Every call of the last ${days} days has a price.`
  const hints = [
    ...(rows.some(({ hasPriceNow, reason }) => !hasPriceNow && couldBePriced(reason))
      ? ["No price: add it to prices in TALLYGATE_CONFIG; '0' is what is free."]
      : []),
    ...(rows.some(({ hasPriceNow }) => hasPriceNow)
      ? ['A price now: correct the past with prices reprice --model NAME --since DAY.']
      : []),
    ...(rows.some(({ reason }) => !couldBePriced(reason))
      ? ['No price helps calls without figures: doctor says what does, docs/prices.md what the reasons mean.']
      : []),
  ]
  const whose = by === null ? [] : ['', describePriceSource(by)]
  return [renderListing({ columns: COLUMNS, empty: '' }, rows), '', ...hints, ...whose].join('\n')
}
