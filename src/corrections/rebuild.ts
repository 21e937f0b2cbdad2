import type { UtcDay } from '../domain/utc-day.ts'
import { lockDays } from '../store/connection/advisory-locks.ts'
import {
  inSnapshot,
  inTransaction,
  type Postgres,
  type PostgresSession,
  queryLong,
} from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import {
  type DayPart,
  holdCallDay,
  inPart,
  PART_SIZE,
  type PartSize,
  partParameters,
  selectCallDays,
  splitDay,
} from '../usage/calls/call-partitions.ts'
import { IS_METERED, METERED_COLUMNS, NOTHING_METERED, RECOUNT } from '../usage/calls/recount.ts'
import { IS_TOTALLED_IN, isRowOf, KEY, keyIn, ROW_KEY, sameKey } from '../usage/daily-key.ts'
import { RECOUNT_LATENCY } from '../usage/days/daily-latency.ts'
import { ensureUsageMonths, reopenDays } from '../usage/days/usage-days.ts'
import { keptAs } from '../usage/metrics-table.ts'
import { addAdjustment, setAdjustmentSums } from './adjustments.ts'
import { rebuildAxes } from './rebuild-axes.ts'
import { countDay, selectRequestProof } from './verify-part.ts'

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

export interface RebuildOptions {
  /** Called after each part of the day, with the calls that were gone through so far. */
  readonly onProgress?: (day: UtcDay, calls: number) => void
  readonly partSize?: PartSize
}

/**
 * Computes a day's totals again from its calls, and its adjustments from their entries, part by part. Each part
 * is one transaction that leaves its totals right, and its change in the audit: a rebuild that is cut is taken
 * up by another. Roll-ups of that day wait while a part is worked on, those of other days go on.
 */
export async function rebuildDay(
  pool: Postgres,
  { day, who, why }: RebuildOrder,
  { onProgress, partSize = PART_SIZE }: RebuildOptions = {},
): Promise<Rebuilt> {
  const known = await inSnapshot(pool, async (session) => {
    const isKept = (await selectCallDays(session)).has(day)
    return { isKept, counts: await countDay(session, day), proof: await selectRequestProof(session) }
  })
  if (!known.isKept) return { kind: 'not_kept' }
  const { counts, proof } = known
  const { calls, requests } = counts
  if (calls < requests && proof.totals - requests + calls < proof.counted) {
    return { kind: 'incomplete', calls, requests }
  }
  const sums = { beforePico: 0n, afterPico: 0n }
  let adjustmentId: string | null = null
  let rows = 0
  for (const part of splitDay(day, counts, partSize)) {
    const rebuilt = await inTransaction(pool, async (session) => {
      // 1. No roll-up of this day from here on: it would add to rows that are replaced below.
      await lockDays(session, [day])
      // 2. Nor are the calls dropped: rows would be taken for such as no call is in.
      if (!(await holdCallDay(session, day))) return null
      const result = await rebuildPart(session, part)
      const beforePico = sums.beforePico + result.beforePico
      const afterPico = sums.afterPico + result.afterPico
      // 3. The audit, with each part that is committed.
      let id = adjustmentId
      const isFirst = id === null && result.rows > 0
      if (isFirst) {
        const scope = { day }
        id = await addAdjustment(session, { kind: 'rebuild', who, why, scope, beforePico, afterPico })
      } else if (id !== null) await setAdjustmentSums(session, id, { beforePico, afterPico })
      return { ...result, beforePico, afterPico, adjustmentId: id }
    })
    if (rebuilt === null) return { kind: 'not_kept' }
    ;({ adjustmentId } = rebuilt)
    sums.beforePico = rebuilt.beforePico
    sums.afterPico = rebuilt.afterPico
    rows += rebuilt.rows
    onProgress?.(day, Math.round((Number(calls) * (part.part + 1)) / part.parts))
  }
  if (adjustmentId === null) return { kind: 'unchanged', calls }
  return { kind: 'rebuilt', adjustmentId, calls, rows, ...sums }
}

interface RebuiltPart {
  /** That were changed, added or taken away. */
  readonly rows: number
  readonly beforePico: bigint
  readonly afterPico: bigint
}

async function rebuildPart(session: PostgresSession, part: DayPart): Promise<RebuiltPart> {
  const { day } = part
  await ensureUsageMonths(session, [day])
  const beforePico = await sumOfPart(session, part)
  let rows = 0
  const run = async (statement: string) => {
    const { rowCount } = await queryLong(session, statement, [...partParameters(part)])
    rows += rowCount ?? 0
  }
  // 1. Rows that no call is in: away, or empty where an adjustment stands in them.
  await run(DELETE_ROWS)
  await run(EMPTY_ROWS)
  // 2. Rows that differ from what their calls say, and those that are missing.
  await run(REPLACE_ROWS)
  // 3. Adjustments, from their entries.
  await run(ADJUST_ROWS)
  // 4. The histograms, likewise.
  await run(DELETE_LATENCIES)
  await run(REPLACE_LATENCIES)
  // 5. The values on axes, likewise.
  rows += await rebuildAxes(session, part)
  if (rows === 0) return { rows, beforePico, afterPico: beforePico }
  await reopenDays(session, [day])
  return { rows, beforePico, afterPico: await sumOfPart(session, part) }
}

const WITHOUT_CALLS = `${inPart('u')} and not exists (
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
  where ${inPart('u')} group by ${keyIn('u')}) e
where ${isRowOf('u', 'e')}
  and (u.adjusted_pico <> e.pico or u.priced_later is distinct from e.priced_calls)`

const DELETE_LATENCIES = `
delete from ${SCHEMA}.daily_latency l where ${inPart('l')} and not exists (
  select from ${SCHEMA}.calls c where c.day = $1 and c.client_id = l.client_id and c.model = l.model
    and not c.web_socket and c.latency_ms is not null)`

const REPLACE_LATENCIES = `
insert into ${SCHEMA}.daily_latency as l (day, client_id, model, buckets, first_bytes)
${RECOUNT_LATENCY} order by client_id, model
on conflict (day, client_id, model) do update set
  buckets = excluded.buckets, first_bytes = excluded.first_bytes
where l.buckets <> excluded.buckets or l.first_bytes is distinct from excluded.first_bytes`

async function sumOfPart(session: PostgresSession, part: DayPart): Promise<bigint> {
  const { rows } = await session.query<{ pico: string }>(
    `select coalesce(sum(cost_pico + adjusted_pico), 0) as pico from ${SCHEMA}.daily_usage u where ${inPart('u')}`,
    [...partParameters(part)],
  )
  return BigInt(rows[0]?.pico ?? '0')
}
