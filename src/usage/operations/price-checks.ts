import { z } from 'zod'
import { periodOf } from '../../domain/period.ts'
import { picoToUsdNumber, picoToUsdText } from '../../domain/pico-usd.ts'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { shownCount, shownDocument, shownList, shownText } from '../../operations/answers.ts'
import { daysField, flagField } from '../../operations/fields.ts'
import { type Column, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { printable, renderListing, renderTable } from '../../operations/table.ts'
import { catalogPlaces } from '../../pricing/catalog/catalog-providers.ts'
import type { ModelCorrection } from '../../pricing/corrections/model-correction.ts'
import type { PricePorts } from '../../pricing/operations/prices-in-force.ts'
import type { CatalogContradiction } from '../../pricing/sources/catalog-contradictions.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { buildSummaryStatement, selectSums } from '../summaries/read-summaries.ts'

const RIGHT = { align: 'right' } as const

const DIFFERENCES: readonly Column<CostDifference>[] = [
  { heading: 'MODEL', cell: ({ model }) => model },
  { heading: 'UPSTREAM', cell: ({ upstream }) => upstream },
  { heading: 'CALLS', ...RIGHT, cell: ({ calls }) => `${calls}` },
  { heading: 'PROVIDER SAYS USD', ...RIGHT, cell: ({ reportedPico }) => picoToUsdText(reportedPico) },
  { heading: 'OUR PRICES SAY USD', ...RIGHT, cell: ({ ownPico }) => picoToUsdText(ownPico) },
]

export const listDifferences = renderedOperation({
  name: 'prices.differences',
  summary: 'Shows models whose provider says another cost than our prices, by over 1 %.',
  role: 'read',
  http: { method: 'GET', path: '/prices/differences', id: 'listCostDifferences' },
  input: { days: daysField() },
  answer: shownList(
    shownDocument('CostDifference', {
      model: shownText('The model that answered.'),
      provider: shownText('The provider of the upstream.'),
      upstream: shownText('The name of the upstream.'),
      calls: shownCount('Calls with such a difference.'),
      reported_usd: z.number().describe('The cost by the word of the provider, without markups.'),
      reported_usd_text: shownText('The same, to the last of its 12 places, as decimal text.'),
      own_usd: z.number().describe('The cost by our prices, with markups.'),
      own_usd_text: shownText('The same, to the last of its 12 places, as decimal text.'),
    }),
  ),
  gives: 'The models, at most 100, the largest differences first.',
  isReport: true,
  run: ({ read, now }: Ports, { days }) =>
    read((from) => selectCostDifferences(from, periodOf(days, now()).fromDay)),
  render: (differences: readonly CostDifference[]) =>
    differences.map(({ model, provider, upstream, calls, reportedPico, ownPico }) => ({
      model,
      provider,
      upstream,
      calls: Number(calls),
      reported_usd: picoToUsdNumber(reportedPico),
      reported_usd_text: picoToUsdText(reportedPico),
      own_usd: picoToUsdNumber(ownPico),
      own_usd_text: picoToUsdText(ownPico),
    })),
  command: {
    words: 'prices differences',
    print: (differences: readonly CostDifference[], { days }) =>
      differences.length === 0
        ? `No provider said another cost in the last ${days} days.`
        : [
            'Calls whose provider says another cost than our prices, by more than 1 %:',
            renderListing({ columns: DIFFERENCES, empty: '' }, differences),
            "The provider's is taken where trust_reported_cost says so, or its host is known to bill what it says.",
          ].join('\n'),
  },
})

interface FoundContradictions {
  readonly contradictions: readonly CatalogContradiction[]
  readonly stale: readonly ModelCorrection[]
}

const SOURCE_PRICE = z.strictObject({
  source: shownText('The list, and its version.'),
  price: shownText('Dollars for a million tokens, a thousand pieces or an hour, in the words of the list.'),
})

export const listContradictions = renderedOperation({
  name: 'prices.contradictions',
  summary: 'Shows where the sources of prices contradict each other on models in use.',
  role: 'read',
  http: { method: 'GET', path: '/prices/contradictions', id: 'listPriceContradictions' },
  input: {
    days: daysField(),
    all: flagField('Of every model that a source lists, and corrections of ours that are stale.').default(
      false,
    ),
  },
  answer: shownDocument('PriceContradictions', {
    contradictions: shownList(
      z.strictObject({
        provider: shownText('The provider, as the lists call it.'),
        model: shownText('The model, as the lists call it.'),
        rate: shownText('The class of tokens or units.'),
        taken: SOURCE_PRICE,
        others: shownList(SOURCE_PRICE),
        why: shownText('Why that one is taken.'),
      }),
    ),
    stale_corrections: shownList(
      z.strictObject({
        provider: shownText('The provider, as the lists call it.'),
        model: shownText('The model, as the lists call it.'),
        source: shownText('Where our correction is from.'),
        seen: shownText('The day on which it was seen.'),
      }),
      'Our own corrections that a source has caught up with. Only with all.',
    ),
  }),
  gives: 'The contradictions.',
  errors: ['conflict'],
  isPriced: true,
  needsNoStores: true,
  async run({ findPrices, read, now }: PricePorts, { days, all }): Promise<FoundContradictions> {
    const nowMs = now()
    const { config } = await findPrices()
    const { entries } = config.source
    const sources = await import('../../pricing/sources/catalog-contradictions.ts') // a gateway starts without it
    if (all)
      return {
        contradictions: sources.allContradictions(entries, nowMs),
        stale: sources.staleCorrections(entries, nowMs),
      }
    const { fromDay } = periodOf(days, nowMs)
    const used = await read((from) => selectModelsInUse(from, fromDay))
    const whose = config.settings.pricesOf ?? {}
    const found = used.flatMap(({ provider, upstream, model }) =>
      catalogPlaces(provider, model, whose[upstream] ?? null).flatMap((place) =>
        sources.contradictionsOf(entries, place, nowMs),
      ),
    )
    return { contradictions: eachOnce(found), stale: [] }
  },
  render: ({ contradictions, stale }: FoundContradictions) => ({
    contradictions,
    stale_corrections: stale.map(({ providerId, id, source, seen }) => ({
      provider: providerId,
      model: id,
      source,
      seen,
    })),
  }),
  command: { words: 'prices contradictions', print: contradictionsText },
})

/** Several upstreams may have one model. */
function eachOnce(found: readonly CatalogContradiction[]): readonly CatalogContradiction[] {
  return [...new Map(found.map((one) => [`${one.provider}\n${one.model}\n${one.rate}`, one])).values()]
}

function contradictionsText(
  { contradictions, stale }: FoundContradictions,
  { days, all }: { readonly days: number; readonly all: boolean },
): string {
  const whose = all ? 'models they list' : `models of the last ${days} days`
  const table = renderTable(
    ['PROVIDER', 'MODEL', 'CLASS', 'TAKEN', 'OTHERS', 'WHY'].map((heading) => ({ heading })),
    contradictions.map(({ provider, model, rate, taken, others, why }) => [
      provider,
      printable(model),
      rate,
      `${taken.price} (${nameOf(taken.source)})`,
      others.map(({ price, source }) => `${price} (${nameOf(source)})`).join('; '),
      why,
    ]),
  )
  const head =
    contradictions.length === 0
      ? `The sources of prices do not contradict each other on ${whose}.`
      : `${table}\n\nSources contradict each other on ${whose}: dollars a million tokens, a thousand pieces or an hour. They are never averaged; an entry under prices in TALLYGATE_CONFIG decides otherwise.`
  const old = stale.map(
    ({ providerId, id }) => `Stale: a source says as our correction of ${providerId}/${id} does.`,
  )
  return [head, ...old].join('\n')
}

/** Without its version. */
function nameOf(source: string): string {
  return source.replace(/@.*/, '')
}

/** A model by the name its calls are totalled under. */
interface ModelInUse {
  readonly provider: string
  readonly upstream: string
  readonly model: string
}

const STATEMENT = buildSummaryStatement({
  by: ['provider', 'model', 'upstream'],
  ofClient: false,
  columns: [],
  selected: ['u.provider', 'u.model', 'u.upstream'],
  orderBy: 'u.provider, u.model, u.upstream',
  isOpenEnded: true,
})

/** The models that calls since `fromDay` used, by provider and name. */
export async function selectModelsInUse(pool: Postgres, fromDay: UtcDay): Promise<readonly ModelInUse[]> {
  const rows = await selectSums(pool, STATEMENT, { fromDay, toDay: utcDayOf(Date.now()) }, null)
  return rows.map(({ provider, upstream, model }) => ({
    provider: provider ?? '',
    upstream: upstream ?? '',
    model: model ?? '',
  }))
}

/** Calls of one model whose cost, by the word of its upstream and by our prices, is not the same. */
interface CostDifference {
  readonly model: string
  readonly provider: string
  readonly upstream: string
  readonly calls: bigint
  /** As the upstream said it, without markups, and by our prices, with them; 1e-12 USD. */
  readonly reportedPico: bigint
  readonly ownPico: bigint
}

/** Of the single calls that are kept, from `fromDay` on; the largest differences first, at most 100. */
export async function selectCostDifferences(pool: Postgres, fromDay: UtcDay): Promise<CostDifference[]> {
  const { rows } = await pool.query<{
    model: string
    provider: string
    upstream: string
    calls: string
    reported: string
    own: string
  }>(
    `select model, provider, upstream, count(*) as calls, sum(reported_cost_pico) as reported,
       sum(own_cost_pico) as own
     from ${SCHEMA}.calls where cost_differs and day >= $1
     group by model, provider, upstream
     order by abs(sum(reported_cost_pico) - sum(own_cost_pico)) desc, model limit 100`,
    [fromDay],
  )
  return rows.map(({ model, provider, upstream, calls, reported, own }) => ({
    model,
    provider,
    upstream,
    calls: BigInt(calls),
    reportedPico: BigInt(reported),
    ownPico: BigInt(own),
  }))
}
