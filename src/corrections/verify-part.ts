import type { UtcDay } from '../domain/utc-day.ts'
import { isLinear } from '../pricing/price.ts'
import { costOfSums } from '../pricing/price-cost.ts'
import { type Postgres, type PostgresSession, queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { ALL_COMMITTED } from '../store/ledger/committed-offsets.ts'
import { type DayPart, inPart, partParameters } from '../usage/calls/call-partitions.ts'
import { IS_METERED, METERED_COLUMNS, RECOUNT } from '../usage/calls/recount.ts'
import {
  type DailyKey,
  type DailyKeyRow,
  KEY,
  KEY_COLUMNS,
  keyFrom,
  keyRowOf,
  keyWith,
  sameKey,
} from '../usage/daily-key.ts'
import { sumsFrom } from '../usage/daily-row.ts'
import { RECOUNT_LATENCY } from '../usage/days/daily-latency.ts'
import { USES, valueIn } from '../usage/metrics-table.ts'
import { selectPrices } from '../usage/price-definitions.ts'
import { ALL_REQUESTS } from '../usage/summaries/summarised.ts'
import { selectSummaryDifferences } from '../usage/summaries/summary-differences.ts'

/** A figure of a row that is not what it should be, both as text. */
export interface Difference {
  readonly key: DailyKey
  readonly column: string
  readonly stored: string
  readonly recomputed: string
  /**
   * What it was held against: the single calls, the price behind `price_id` times the row's sums, the entries of
   * adjustments, or, for the sums of a day or a month that is over, the rows that they are the sums of.
   */
  readonly against: 'calls' | 'price' | 'adjustments' | 'daily_usage'
}

/** How large a day is, as of one moment. */
export interface DayCounts {
  /** Calls and settlements that are kept, and how many of both the totals say. */
  readonly calls: bigint
  readonly requests: bigint
  /** Of totals. */
  readonly rows: bigint
}

export async function countDay(session: PostgresSession, day: UtcDay): Promise<DayCounts> {
  const { rows } = await queryLong<Record<keyof DayCounts, string>>(
    session,
    `select (select count(*) from ${SCHEMA}.calls where day = $1) as calls,
       coalesce(sum(${USES}), 0) as requests, count(*) as rows
     from ${SCHEMA}.daily_usage u where day = $1`,
    [day],
  )
  const { calls = '0', requests = '0', rows: count = '0' } = rows[0] ?? {}
  return { calls: BigInt(calls), requests: BigInt(requests), rows: BigInt(count) }
}

/** A figure as text; null where there is no row. */
function textIn(alias: string, column: string): string {
  return `case when ${alias}.day is not null then ${valueIn(alias, column)}::text end`
}

/** Rows that hold nothing but adjustments by hand have no calls, and need none. */
const COMPARE = `
select ${KEY_COLUMNS.map((column) => `coalesce(u.${column}, c.${column}) as ${column}`).join(', ')},
  ${METERED_COLUMNS.map((column) => `${textIn('u', column)} as "u.${column}", ${textIn('c', column)} as "c.${column}"`).join(', ')}
from (select * from ${SCHEMA}.daily_usage u where ${inPart('u')} and (${IS_METERED})) u
full join (${RECOUNT}) c
  on ${sameKey('u', 'c')}
where ${METERED_COLUMNS.map((column) => `u.${column} is distinct from c.${column}`).join(' or ')}
order by ${KEY_COLUMNS.map((column) => `coalesce(u.${column}, c.${column})`).join(', ')}`

type TextRow = DailyKeyRow & { readonly [column: string]: string | null }

/** Holds the metered columns of a part's rows, and its histograms, against its calls. */
export async function againstCalls(session: PostgresSession, part: DayPart): Promise<Difference[]> {
  const { rows } = await queryLong<TextRow>(session, COMPARE, [...partParameters(part)])
  const differences = rows.flatMap((row) =>
    METERED_COLUMNS.flatMap((column): Difference[] => {
      const stored = row[`u.${column}`] ?? 'no row'
      const recomputed = row[`c.${column}`] ?? 'no call'
      // A row that is not there, or has no calls, differs in its requests; its other columns add nothing.
      const isMissing = stored === 'no row' || recomputed === 'no call'
      if (stored === recomputed || (isMissing && column !== 'requests')) return []
      return [{ key: keyFrom(row), column, stored, recomputed, against: 'calls' }]
    }),
  )
  return [...differences, ...(await latenciesAgainstCalls(session, part))]
}

const LATENCIES = [
  { column: 'buckets', figure: 'latency_buckets' },
  // Not kept where calls were counted by a release before 0039.
  { column: 'first_bytes', figure: 'first_byte_buckets' },
] as const

const COMPARE_LATENCIES = `
select coalesce(u.client_id, c.client_id) as client_id, coalesce(u.model, c.model) as model,
  ${LATENCIES.map(
    ({ column, figure }) => `
  array_to_string(${SCHEMA}.latency_counts(u.${column}), ',') as "u.${figure}",
  array_to_string(${SCHEMA}.latency_counts(c.${column}), ',') as "c.${figure}"`,
  ).join(', ')}
from (select * from ${SCHEMA}.daily_latency u where ${inPart('u')}) u
full join (${RECOUNT_LATENCY}) c on u.client_id = c.client_id and u.model = c.model
where u.buckets is distinct from c.buckets or u.first_bytes <> c.first_bytes order by 1, 2`

/** A histogram is of a client and model, whatever its keys and prices. */
async function latenciesAgainstCalls(session: PostgresSession, part: DayPart): Promise<Difference[]> {
  const { rows } = await queryLong<Readonly<Record<string, string>>>(session, COMPARE_LATENCIES, [
    ...partParameters(part),
  ])
  return rows.flatMap(({ client_id: clientId, model, ...row }) =>
    LATENCIES.flatMap(({ figure }): Difference[] => {
      const [stored = '', recomputed = ''] = [row[`u.${figure}`], row[`c.${figure}`]]
      if (stored === recomputed) return []
      const key = keyWith({ day: part.day, clientId: clientId ?? '', model: model ?? '' })
      return [{ key, column: figure, stored, recomputed, against: 'calls' }]
    }),
  )
}

/** A row of totals with the sums of its adjustments' entries. */
export type RowWithEntries = DailyKeyRow & { readonly [column: string]: string | null }

/** The rows of a part, each with its entries as of the same moment. */
export async function selectRows(session: PostgresSession, part: DayPart): Promise<RowWithEntries[]> {
  const { rows } = await queryLong<RowWithEntries>(
    session,
    `select u.*, coalesce(e.pico, 0) as entries_pico, coalesce(e.priced_calls, 0) as entries_priced_calls
     from ${SCHEMA}.daily_usage u left join (
       select ${KEY}, sum(pico) as pico, sum(priced_calls) as priced_calls
       from ${SCHEMA}.adjustment_entries e where ${inPart('e')} group by ${KEY}) e
       using (${KEY})
     where ${inPart('u')}`,
    [...partParameters(part)],
  )
  return rows
}

/** One linear price holds for all calls of a row, so its sums give its cost again. */
export async function againstPrices(
  session: PostgresSession,
  rows: readonly RowWithEntries[],
): Promise<Difference[]> {
  const priced = rows.filter((row) => row.price_id !== '')
  const prices = await selectPrices(session, new Set(priced.map((row) => row.price_id)))
  return priced.flatMap((row): Difference[] => {
    const price = prices.get(row.price_id)
    const stored = row.cost_pico ?? ''
    const difference = { key: keyFrom(row), column: 'cost_pico', stored, against: 'price' } as const
    if (price === undefined) return [{ ...difference, recomputed: 'price not known' }]
    if (!isLinear(price)) return []
    const recomputed = `${costOfSums(price, sumsFrom(row))}`
    return recomputed === stored ? [] : [{ ...difference, recomputed }]
  })
}

export function againstAdjustments(rows: readonly RowWithEntries[]): Difference[] {
  return rows.flatMap((row) =>
    (
      [
        ['adjusted_pico', 'entries_pico'],
        ['priced_later', 'entries_priced_calls'],
      ] as const
    ).flatMap(([column, entries]): Difference[] => {
      const stored = row[column] ?? '0'
      const recomputed = row[entries] ?? ''
      return stored === recomputed
        ? []
        : [{ key: keyFrom(row), column, stored, recomputed, against: 'adjustments' }]
    }),
  )
}

/** The sums of a day that is over, and with the last day of a month those of the month. */
export async function againstRows(session: PostgresSession, day: UtcDay): Promise<Difference[]> {
  const differences = await selectSummaryDifferences(session, day)
  return differences.map(({ table, day: first, key, column, stored, recomputed }) => ({
    key: keyFrom({ ...NO_KEY, ...key, day: first }),
    column: `${table}.${column}`,
    stored: stored ?? 'no row',
    recomputed: recomputed ?? 'no row',
    against: 'daily_usage',
  }))
}

const NO_KEY = keyRowOf(keyWith({}))

/** Two ways to know how many requests were counted since ever; the same number where all is well. */
export interface RequestProof {
  /** By the producers' committed offsets, less what lies in unfilled gaps and unresolved dead letters. */
  readonly counted: bigint
  /** The requests in `daily_usage`: of days that are over by their sums, which `verify` holds against its rows. */
  readonly totals: bigint
}

/**
 * Every sequence at or under a committed offset is in the totals, in a gap, or a dead letter: docs/ledger.md,
 * section 5.
 */
export async function selectRequestProof(session: Postgres | PostgresSession): Promise<RequestProof> {
  const { rows } = await session.query<{ counted: string; totals: string }>(
    `select ${ALL_COMMITTED}
         - (select coalesce(sum(to_seq - from_seq + 1), 0) from ${SCHEMA}.ledger_gaps where filled_at is null)
         - (select count(*) from ${SCHEMA}.dead_letters where resolved_at is null) as counted,
       ${ALL_REQUESTS} as totals`,
  )
  return { counted: BigInt(rows[0]?.counted ?? '0'), totals: BigInt(rows[0]?.totals ?? '0') }
}
