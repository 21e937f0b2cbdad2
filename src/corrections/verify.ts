import type { UtcDay } from '../domain/utc-day.ts'
import { isLinear } from '../pricing/price.ts'
import { costOfSums } from '../pricing/price-cost.ts'
import { queryLong } from '../store/connection/long-query.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { selectCallDays } from '../usage/calls/call-partitions.ts'
import { IS_METERED, METERED_COLUMNS, RECOUNT } from '../usage/calls/recount.ts'
import {
  type DailyKey,
  type DailyKeyRow,
  KEY,
  KEY_COLUMNS,
  keyFrom,
  keyWith,
  sameKey,
} from '../usage/daily-key.ts'
import { sumsFrom } from '../usage/daily-row.ts'
import { RECOUNT_LATENCY } from '../usage/days/daily-latency.ts'
import { USES, valueIn } from '../usage/metrics-table.ts'
import { selectPrices } from '../usage/price-definitions.ts'
import { type RequestProof, selectRequestProof } from './ledger-proof.ts'

/** A figure of a row that is not what it should be, both as text. */
export interface Difference {
  readonly key: DailyKey
  readonly column: string
  readonly stored: string
  readonly recomputed: string
  /**
   * What it was held against: the single calls, the price behind `price_id` times the row's sums, or the
   * entries of adjustments.
   */
  readonly against: 'calls' | 'price' | 'adjustments'
}

export interface Verified {
  /** Days whose totals were held against their calls. */
  readonly daysFromCalls: readonly UtcDay[]
  /** Days with a partition whose calls are not all kept, so that they can prove nothing. */
  readonly incompleteDays: readonly UtcDay[]
  readonly rows: number
  readonly calls: bigint
  readonly differences: readonly Difference[]
  /** Over all days: what the producers' committed offsets say was counted, and what the totals hold. */
  readonly proof: RequestProof
}

/**
 * Recomputes the totals since a day and names every figure that differs: metered columns from the calls where
 * these are kept, each row's cost from its price and sums, adjustments from their entries; and the number of
 * all requests from the producers' committed offsets. One snapshot, so roll-ups may go on meanwhile.
 */
export async function verifyLedger(pool: Postgres, since: UtcDay): Promise<Verified> {
  return await inTransaction(pool, async (session) => {
    await session.query('set transaction isolation level repeatable read, read only')
    const proof = await selectRequestProof(session)
    const keptDays = await selectCallDays(session)
    const days = await selectDays(session, since, keptDays)
    const differences: Difference[] = []
    const daysFromCalls: UtcDay[] = []
    const incompleteDays: UtcDay[] = []
    let rows = 0
    let calls = 0n
    for (const day of days) {
      if (keptDays.has(day)) {
        const counts = await countDay(session, day)
        // Fewer calls than requests, and the committed offsets say that the requests are right: not all calls
        // were kept.
        if (counts.calls < counts.requests && proof.totals === proof.counted) {
          incompleteDays.push(day)
        } else {
          daysFromCalls.push(day)
          calls += counts.calls
          differences.push(...(await againstCalls(session, day)))
          differences.push(...(await latenciesAgainstCalls(session, day)))
        }
      }
      const ofDay = await selectRows(session, day)
      rows += ofDay.length
      differences.push(...(await againstPrices(session, ofDay)), ...againstAdjustments(ofDay))
    }
    return { daysFromCalls, incompleteDays, rows, calls, differences, proof }
  })
}

/** Days with totals or calls, rising. */
async function selectDays(
  session: PostgresSession,
  since: UtcDay,
  keptDays: ReadonlySet<UtcDay>,
): Promise<UtcDay[]> {
  const { rows } = await session.query<{ day: UtcDay }>(
    `select distinct day from ${SCHEMA}.daily_usage where day >= $1`,
    [since],
  )
  const kept = [...keptDays].filter((day) => day >= since)
  return [...new Set([...rows.map(({ day }) => day), ...kept])].sort()
}

/** How many calls and settlements a day has kept, and how many of both its totals say. */
export async function countDay(
  session: PostgresSession,
  day: UtcDay,
): Promise<{ readonly calls: bigint; readonly requests: bigint }> {
  const { rows } = await queryLong<{ calls: string; requests: string }>(
    session,
    `select (select count(*) from ${SCHEMA}.calls where day = $1) as calls,
       (select coalesce(sum(${USES}), 0) from ${SCHEMA}.daily_usage u where day = $1) as requests`,
    [day],
  )
  return { calls: BigInt(rows[0]?.calls ?? '0'), requests: BigInt(rows[0]?.requests ?? '0') }
}

/** A figure as text; null where there is no row. */
function textIn(alias: string, column: string): string {
  return `case when ${alias}.day is not null then ${valueIn(alias, column)}::text end`
}

/** Rows that hold nothing but adjustments by hand have no calls, and need none. */
const COMPARE = `
select ${KEY_COLUMNS.map((column) => `coalesce(u.${column}, c.${column}) as ${column}`).join(', ')},
  ${METERED_COLUMNS.map((column) => `${textIn('u', column)} as "u.${column}", ${textIn('c', column)} as "c.${column}"`).join(', ')}
from (select * from ${SCHEMA}.daily_usage u where day = $1 and (${IS_METERED})) u
full join (${RECOUNT}) c
  on ${sameKey('u', 'c')}
where ${METERED_COLUMNS.map((column) => `u.${column} is distinct from c.${column}`).join(' or ')}
order by ${KEY_COLUMNS.map((column) => `coalesce(u.${column}, c.${column})`).join(', ')}`

type TextRow = DailyKeyRow & { readonly [column: string]: string | null }

async function againstCalls(session: PostgresSession, day: UtcDay): Promise<Difference[]> {
  const { rows } = await queryLong<TextRow>(session, COMPARE, [day])
  return rows.flatMap((row) =>
    METERED_COLUMNS.flatMap((column): Difference[] => {
      const stored = row[`u.${column}`] ?? 'no row'
      const recomputed = row[`c.${column}`] ?? 'no call'
      // A row that is not there, or has no calls, differs in its requests; its other columns add nothing.
      const isMissing = stored === 'no row' || recomputed === 'no call'
      if (stored === recomputed || (isMissing && column !== 'requests')) return []
      return [{ key: keyFrom(row), column, stored, recomputed, against: 'calls' }]
    }),
  )
}

type Row = DailyKeyRow & { readonly [column: string]: string | null }

const COMPARE_LATENCIES = `
select coalesce(u.client_id, c.client_id) as client_id, coalesce(u.model, c.model) as model,
  array_to_string(${SCHEMA}.latency_counts(u.buckets), ',') as stored,
  array_to_string(${SCHEMA}.latency_counts(c.buckets), ',') as recomputed
from (select * from ${SCHEMA}.daily_latency where day = $1) u
full join (${RECOUNT_LATENCY}) c on u.client_id = c.client_id and u.model = c.model
where u.buckets is distinct from c.buckets order by 1, 2`

/** A histogram is of a client and model, whatever its keys and prices. */
async function latenciesAgainstCalls(session: PostgresSession, day: UtcDay): Promise<Difference[]> {
  const { rows } = await queryLong<Record<'client_id' | 'model' | 'stored' | 'recomputed', string>>(
    session,
    COMPARE_LATENCIES,
    [day],
  )
  return rows.map(({ client_id: clientId, model, stored, recomputed }) => {
    return {
      key: keyWith({ day, clientId, model }),
      column: 'latency_buckets',
      stored,
      recomputed,
      against: 'calls',
    }
  })
}

async function selectRows(session: PostgresSession, day: UtcDay): Promise<Row[]> {
  const { rows } = await session.query<Row>(
    `select u.*, coalesce(e.pico, 0) as entries_pico, coalesce(e.priced_calls, 0) as entries_priced_calls
     from ${SCHEMA}.daily_usage u left join (
       select ${KEY}, sum(pico) as pico, sum(priced_calls) as priced_calls
       from ${SCHEMA}.adjustment_entries where day = $1 group by ${KEY}) e
       using (${KEY})
     where u.day = $1`,
    [day],
  )
  return rows
}

/** One linear price holds for all calls of a row, so its sums give its cost again. */
async function againstPrices(session: PostgresSession, rows: readonly Row[]): Promise<Difference[]> {
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

function againstAdjustments(rows: readonly Row[]): Difference[] {
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
