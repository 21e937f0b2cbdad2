import type { UtcDay } from '../domain/utc-day.ts'
import { inSnapshot, type Postgres, type PostgresSession, queryLong } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { AXIS_ROWS, RECOUNT_AXES } from '../usage/axes/recount-axes.ts'
import {
  type DayPart,
  PART_SIZE,
  type PartSize,
  partParameters,
  selectCallDays,
  splitDay,
} from '../usage/calls/call-partitions.ts'
import { METERED_COLUMNS } from '../usage/calls/recount.ts'
import { keyText, keyWith } from '../usage/daily-key.ts'
import { selectUsageDays } from '../usage/days/usage-days.ts'
import { hasAxes, VALUE_ADJUSTMENTS } from './rebuild-axes.ts'
import {
  againstAdjustments,
  againstCalls,
  againstPrices,
  againstRows,
  countDay,
  type Difference,
  type RequestProof,
  selectRequestProof,
  selectRows,
} from './verify-part.ts'

/** A day of which not all calls are kept. */
export interface UncheckedDay {
  readonly day: UtcDay
  /** That the totals have, and of these the calls that are kept. */
  readonly requests: bigint
  readonly calls: bigint
}

export interface Verified {
  /** Days whose totals were held against their calls. */
  readonly daysFromCalls: readonly UtcDay[]
  /** Days with totals whose calls are not kept, or not all of them, so that they can prove nothing. */
  readonly notChecked: readonly UncheckedDay[]
  /** The first day whose calls are kept; `null`: none is. Before it, days without calls are as they should be. */
  readonly firstKeptDay: UtcDay | null
  /** Days that were found right before and have not changed since: not looked at again. */
  readonly unchangedDays: readonly UtcDay[]
  readonly rows: number
  readonly calls: bigint
  readonly differences: readonly Difference[]
  /** Over all days: what the producers' committed offsets say was counted, and what the totals hold. */
  readonly proof: RequestProof
}

export interface VerifyOptions {
  /** Only days that were not found right since they last changed, or not for a week. */
  readonly changedOnly?: boolean
  /** Called after each part of a day, with the calls and rows that were compared so far. */
  readonly onProgress?: (day: UtcDay, compared: number) => void
  readonly partSize?: PartSize
}

/** What names the summing up of a closed day: every write to rows of the day deletes it. `null`: there is none. */
async function findAttempt(pool: Postgres, day: UtcDay): Promise<string | null> {
  const { rows } = await pool.query<{ attempt: string }>(
    `select attempt from ${SCHEMA}.summarised_days where day = $1`,
    [day],
  )
  return rows[0]?.attempt ?? null
}

/**
 * Keeps that a day was found right while `attempt` stood: nothing was written to its totals since before it
 * was looked at. Does nothing where they were written meanwhile.
 */
async function addVerifiedDay(pool: Postgres, day: UtcDay, attempt: string): Promise<void> {
  await pool.query(
    `insert into ${SCHEMA}.verified_days (day, attempt)
     select day, attempt from ${SCHEMA}.summarised_days where day = $1 and attempt = $2
     on conflict (day) do update set attempt = excluded.attempt, verified_at = now()`,
    [day, attempt],
  )
}

/** A change that went round our writers is found after so many days. */
const VERIFIED_FOR = '7 days'

/** The days that were found right in the last seven days and not written to since. */
async function selectVerifiedDays(pool: Postgres): Promise<ReadonlySet<UtcDay>> {
  const { rows } = await pool.query<{ day: UtcDay }>(
    `select v.day from ${SCHEMA}.verified_days v
     join ${SCHEMA}.summarised_days s on s.day = v.day and s.attempt = v.attempt
     where v.verified_at > now() - interval '${VERIFIED_FOR}'`,
  )
  return new Set(rows.map(({ day }) => day))
}

/**
 * Recomputes the totals since a day and names every figure that differs: metered columns from the calls where
 * these are kept, each row's cost from its price and sums, adjustments from their entries; and the number of
 * all requests from the producers' committed offsets. Days are compared part by part. Totals, calls and entries
 * of a part are of one snapshot, and none is held for longer, so that roll-ups and vacuum go on.
 */
export async function verifyLedger(
  pool: Postgres,
  since: UtcDay,
  { changedOnly = false, onProgress, partSize = PART_SIZE }: VerifyOptions = {},
): Promise<Verified> {
  const proof = await inSnapshot(pool, selectRequestProof)
  const keptDays = await selectCallDays(pool)
  const verifiedDays = changedOnly ? await selectVerifiedDays(pool) : NO_DAYS
  const days = await selectDays(pool, since, keptDays)
  const verified = {
    daysFromCalls: [] as UtcDay[],
    notChecked: [] as UncheckedDay[],
    firstKeptDay: [...keptDays].sort()[0] ?? null,
    unchangedDays: days.filter((day) => verifiedDays.has(day)),
    rows: 0,
    calls: 0n,
    differences: [] as Difference[],
    proof,
  }
  for (const day of days) {
    if (verifiedDays.has(day)) continue
    const attempt = await findAttempt(pool, day)
    const counts = await inSnapshot(pool, (session) => countDay(session, day))
    // Fewer calls than requests, and the committed offsets say that the requests are right: not all calls were
    // kept.
    const isIncomplete = counts.calls < counts.requests && proof.totals === proof.counted
    const hasCalls = keptDays.has(day) && !isIncomplete
    if (hasCalls) verified.daysFromCalls.push(day)
    else if (counts.requests > 0n) verified.notChecked.push({ day, ...counts })
    const ofCalls: Difference[] = []
    const ofRows: Difference[] = []
    const ofAxes: Difference[] = []
    for (const part of splitDay(day, counts, partSize)) {
      await inSnapshot(pool, async (session) => {
        if (hasCalls) ofCalls.push(...(await againstCalls(session, part)))
        if (hasCalls) ofAxes.push(...(await axesAgainstCalls(session, part)))
        ofAxes.push(...(await axesAgainstRows(session, part)))
        const rows = await selectRows(session, part)
        verified.rows += rows.length
        ofRows.push(...(await againstPrices(session, rows)), ...againstAdjustments(rows))
      })
      const comparedCalls = hasCalls ? (Number(counts.calls) * (part.part + 1)) / part.parts : 0
      onProgress?.(day, Math.round(Number(verified.calls) + comparedCalls) + verified.rows)
    }
    if (hasCalls) verified.calls += counts.calls
    const ofSums = await inSnapshot(pool, (session) => againstRows(session, day))
    verified.differences.push(...sorted(ofCalls), ...ofRows, ...ofAxes, ...ofSums)
    const isRight = [ofCalls, ofRows, ofAxes, ofSums].every(({ length }) => length === 0)
    if (isRight && attempt !== null) await addVerifiedDay(pool, day, attempt)
  }
  return verified
}

const NO_DAYS: ReadonlySet<UtcDay> = new Set()

const LAST_DAY = '9999-12-31'

/** Days with totals or calls, rising. */
async function selectDays(
  pool: Postgres,
  since: UtcDay,
  keptDays: ReadonlySet<UtcDay>,
): Promise<readonly UtcDay[]> {
  const used = await selectUsageDays(pool, since, LAST_DAY)
  return [...new Set([...used, ...[...keptDays].filter((day) => day >= since)])].sort()
}

/** In the order of the rows, whatever part they were in; the figures of a row in theirs. */
function sorted(differences: readonly Difference[]): readonly Difference[] {
  return differences
    .map((difference) => ({ difference, text: keyText(difference.key) }))
    .sort((a, b) => (a.text < b.text ? -1 : a.text > b.text ? 1 : 0))
    .map(({ difference }) => difference)
}

const COMPARE = `
select client_id, axis, value,
  ${METERED_COLUMNS.map((column) => `u.${column}::text as "u.${column}", c.${column}::text as "c.${column}"`).join(', ')}
from (select * from (${AXIS_ROWS}) u where ${METERED_COLUMNS.map((column) => `u.${column} is not null`).join(' or ')}) u
full join (${RECOUNT_AXES}) c using (client_id, axis, value)
where ${METERED_COLUMNS.map((column) => `u.${column} is distinct from c.${column}`).join(' or ')}
order by client_id, axis, value`

type Row = Readonly<Record<string, string | null>>

/** Holds the totals of a part's values against its calls. */
async function axesAgainstCalls(session: PostgresSession, part: DayPart): Promise<Difference[]> {
  if (!(await hasAxes(session))) return []
  const { rows } = await queryLong<Row>(session, COMPARE, [...partParameters(part)])
  return rows.flatMap((row) =>
    METERED_COLUMNS.flatMap((column) =>
      differenceOf(part, row, column, row[`u.${column}`], row[`c.${column}`], 'calls'),
    ),
  )
}

const ADJUSTMENTS = `
select a.client_id, a.name as axis, v.value, d.adjusted_pico, d.priced_later, d.entries_pico, d.entries_priced_calls
from (${VALUE_ADJUSTMENTS}) d join ${SCHEMA}.axes a on a.id = d.axis_id join ${SCHEMA}.axis_values v on v.id = d.value_id
order by 1, 2, 3`

/** No axis has more than the whole: the rest is of calls without a value. */
const BEYOND = `
select u.client_id, u.axis, sum(u.requests) as counted, max(d.requests) as requests
from (${AXIS_ROWS}) u
left join lateral (
  select coalesce(sum(d.requests), 0) as requests from ${SCHEMA}.daily_usage d
  where d.day = $1 and d.client_id = u.client_id) d on true
group by u.client_id, u.axis having sum(u.requests) > max(d.requests)`

/** Holds what values have of adjustments against their entries, and each axis against the whole. */
async function axesAgainstRows(session: PostgresSession, part: DayPart): Promise<Difference[]> {
  if (!(await hasAxes(session))) return []
  const adjusted = await queryLong<Row>(session, ADJUSTMENTS, [...partParameters(part)])
  const beyond = await queryLong<Row>(session, BEYOND, [...partParameters(part)])
  return [
    ...adjusted.rows.flatMap((row) => [
      ...differenceOf(part, row, 'adjusted_pico', row.adjusted_pico, row.entries_pico, 'adjustments'),
      ...differenceOf(part, row, 'priced_later', row.priced_later, row.entries_priced_calls, 'adjustments'),
    ]),
    ...beyond.rows.flatMap((row) =>
      differenceOf(part, row, 'requests', row.counted, row.requests, 'daily_usage'),
    ),
  ]
}

function differenceOf(
  { day }: DayPart,
  row: Row,
  column: string,
  stored: string | null | undefined,
  recomputed: string | null | undefined,
  against: Difference['against'],
): Difference[] {
  if ((stored ?? '0') === (recomputed ?? '0')) return []
  const { client_id: clientId, axis, value } = row
  const named = value === undefined || value === null ? `${axis}` : `${axis}=${value}`
  const key = keyWith({ day, clientId: clientId ?? '' })
  return [
    { key, column: `${column} (${named})`, stored: stored ?? '0', recomputed: recomputed ?? '0', against },
  ]
}
