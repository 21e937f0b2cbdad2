import type { UtcDay } from '../domain/utc-day.ts'
import { lockDays } from '../store/connection/advisory-locks.ts'
import { queryLong } from '../store/connection/long-query.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { selectCallDays } from '../usage/calls/call-partitions.ts'
import { IS_METERED, METERED_COLUMNS, NOTHING_METERED, RECOUNT } from '../usage/calls/recount.ts'
import { IS_TOTALLED_IN, isRowOf, KEY, keyIn, ROW_KEY, sameKey } from '../usage/daily-key.ts'
import { RECOUNT_LATENCY } from '../usage/days/daily-latency.ts'
import { reopenDays } from '../usage/days/reopen-days.ts'
import { ensureUsageMonths } from '../usage/days/usage-months.ts'
import { keptAs } from '../usage/metrics-table.ts'
import { addAdjustment } from './adjustments.ts'
import { selectRequestProof } from './ledger-proof.ts'
import { countDay } from './verify.ts'

export interface RebuildOrder {
  readonly day: UtcDay
  readonly who: string
  readonly why: string
}

export type Rebuilt =
  | {
      readonly kind: 'rebuilt'
      readonly adjustmentId: string
      readonly calls: bigint
      /** Rows that were changed, added or taken away. */
      readonly rows: number
      readonly beforePico: bigint
      readonly afterPico: bigint
    }
  /** The totals are as the calls and adjustments say: nothing was written. */
  | { readonly kind: 'unchanged'; readonly calls: bigint }
  | { readonly kind: 'not_kept' }
  /**
   * The committed offsets say that the requests in the totals are right, and fewer calls are kept: a rebuild
   * would lose some.
   */
  | { readonly kind: 'incomplete'; readonly calls: bigint; readonly requests: bigint }

/**
 * Computes a day's totals again from its calls, and its adjustments from their entries, in one transaction.
 * Roll-ups of that day wait meanwhile, so that no call is in between.
 */
export async function rebuildDay(pool: Postgres, { day, who, why }: RebuildOrder): Promise<Rebuilt> {
  return await inTransaction(pool, async (session): Promise<Rebuilt> => {
    // 1. No roll-up of this day from here on: it would add to rows that are replaced below.
    await lockDays(session, [day])
    if (!(await selectCallDays(session)).has(day)) return { kind: 'not_kept' }
    await ensureUsageMonths(session, [day])
    const { calls, requests } = await countDay(session, day)
    const proof = await selectRequestProof(session)
    if (calls < requests && proof.totals - requests + calls < proof.counted) {
      return { kind: 'incomplete', calls, requests }
    }
    const beforePico = await sumOfDay(session, day)
    // 2. Rows that no call is in: away, or empty where an adjustment stands in them.
    const gone = await queryLong(session, DELETE_ROWS, [day])
    const emptied = await queryLong(session, EMPTY_ROWS, [day])
    // 3. Rows that differ from what their calls say, and those that are missing.
    const replaced = await queryLong(session, REPLACE_ROWS, [day])
    // 4. Adjustments, from their entries.
    const adjusted = await queryLong(session, ADJUST_ROWS, [day])
    // 5. The histograms, likewise.
    const noLatency = await queryLong(session, DELETE_LATENCIES, [day])
    const latencies = await queryLong(session, REPLACE_LATENCIES, [day])
    const changed = [gone, emptied, replaced, adjusted, noLatency, latencies].reduce(
      (sum, { rowCount }) => sum + (rowCount ?? 0),
      0,
    )
    if (changed === 0) return { kind: 'unchanged', calls }
    await reopenDays(session, [day])
    const afterPico = await sumOfDay(session, day)
    const scope = { day }
    const adjustmentId = await addAdjustment(session, {
      kind: 'rebuild',
      who,
      why,
      scope,
      beforePico,
      afterPico,
    })
    return { kind: 'rebuilt', adjustmentId, calls, rows: changed, beforePico, afterPico }
  })
}

const WITHOUT_CALLS = `u.day = $1 and not exists (
  select from ${SCHEMA}.calls c where c.day = $1 and ${IS_TOTALLED_IN})`
const HAS_ENTRY = `exists (select from ${SCHEMA}.adjustment_entries e where ${sameKey('e', 'u')})`

const DELETE_ROWS = `delete from ${SCHEMA}.daily_usage u where ${WITHOUT_CALLS} and not ${HAS_ENTRY}`

const EMPTY_ROWS = `
update ${SCHEMA}.daily_usage u set
  ${METERED_COLUMNS.map((column, index) => `${column} = ${NOTHING_METERED[index]}`).join(', ')}
where ${WITHOUT_CALLS} and (${IS_METERED})`

const REPLACE_ROWS = `
insert into ${SCHEMA}.daily_usage as u (${KEY}, provider, ${METERED_COLUMNS.join(', ')})
${RECOUNT} order by ${KEY}
on conflict (${ROW_KEY}) do update set
  ${METERED_COLUMNS.map((column) => `${column} = excluded.${column}`).join(', ')}
where ${METERED_COLUMNS.map((column) => `u.${column} is distinct from excluded.${column}`).join(' or ')}`

const ADJUST_ROWS = `
update ${SCHEMA}.daily_usage u set adjusted_pico = e.pico, priced_later = e.priced_calls
from (
  select ${keyIn('u')}, coalesce(sum(e.pico), 0) as pico,
    ${keptAs('priced_later', 'sum(e.priced_calls)::bigint')} as priced_calls
  from ${SCHEMA}.daily_usage u left join ${SCHEMA}.adjustment_entries e using (${KEY})
  where u.day = $1 group by ${keyIn('u')}) e
where ${isRowOf('u', 'e')}
  and (u.adjusted_pico <> e.pico or u.priced_later is distinct from e.priced_calls)`

const DELETE_LATENCIES = `
delete from ${SCHEMA}.daily_latency l where l.day = $1 and not exists (
  select from ${SCHEMA}.calls c where c.day = $1 and c.client_id = l.client_id and c.model = l.model
    and not c.web_socket and c.latency_ms is not null)`

const REPLACE_LATENCIES = `
insert into ${SCHEMA}.daily_latency as l (day, client_id, model, buckets)
${RECOUNT_LATENCY} order by client_id, model
on conflict (day, client_id, model) do update set buckets = excluded.buckets
where l.buckets <> excluded.buckets`

async function sumOfDay(session: PostgresSession, day: UtcDay): Promise<bigint> {
  const { rows } = await session.query<{ pico: string }>(
    `select coalesce(sum(cost_pico + adjusted_pico), 0) as pico from ${SCHEMA}.daily_usage where day = $1`,
    [day],
  )
  return BigInt(rows[0]?.pico ?? '0')
}
