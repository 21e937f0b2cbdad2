import { firstOfNextMonth } from '../../domain/period.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { lockClosing, lockDays } from '../../store/connection/advisory-locks.ts'
import {
  inTransaction,
  type Postgres,
  type PostgresSession,
  sqlErrorOf,
} from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { lockPrices } from '../price-definitions.ts'
import { FORM, isClosed, isOfForm } from './summarised.ts'
import { writeDay, writeMonth } from './summary-tables.ts'
import { writeUnpricedRows } from './unpriced-rows.ts'

/** What one run has summed up, and what it could not. */
export interface Summed {
  readonly days: readonly UtcDay[]
  /** By their first days. */
  readonly months: readonly UtcDay[]
  /** Days and months that Postgres refused; the next run tries them again. */
  readonly failed: readonly { readonly day: UtcDay; readonly error: Error }[]
  /** Whether nothing was left to do. */
  readonly isDone: boolean
}

/** The condition that the row `alias` of `summarised_days` has nothing left to do. */
function isDone(alias: string): string {
  return `${isClosed(alias)} and ${isOfForm(alias)}`
}

/** A day's records have mostly come in by then. Later ones reopen it. */
const CLOSED_AFTER = '30 minutes'

/**
 * Every day of the months with usage, the newest first: a month is summed up once all of its days are, and an
 * empty day costs nothing. The months are found one by one by the index on the day, without reading their rows.
 */
const OPEN_DAYS = `
with recursive months as (
  select date_trunc('month', min(day))::date as month from ${SCHEMA}.daily_usage
  union all
  select (select date_trunc('month', min(day))::date from ${SCHEMA}.daily_usage
    where day >= m.month + interval '1 month')
  from months m where m.month is not null)
select d.day::date as day
from months m, generate_series(m.month, m.month + interval '1 month - 1 day', interval '1 day') d (day)
where d.day + interval '1 day' <= (now() at time zone 'UTC') - interval '${CLOSED_AFTER}'
  and not exists (
    select from ${SCHEMA}.summarised_days s where s.day = d.day and ${isDone('s')})
order by d.day desc`

const OPEN_MONTHS = `
select date_trunc('month', day)::date as day from ${SCHEMA}.summarised_days s where ${isDone('s')}
group by 1
having count(*) = extract(day from date_trunc('month', max(day)) + interval '1 month - 1 day')
  and date_trunc('month', max(day))::date not in (
    select month from ${SCHEMA}.summarised_months m where ${isOfForm('m')})
order by 1 desc`

/**
 * Sums up days and months that are over: all that were never summed up, and those that were reopened.
 *
 * @param limitMs After this time no further day or month is begun.
 * @throws When Postgres is away.
 */
export async function summarise(pool: Postgres, limitMs: number): Promise<Summed> {
  const untilMs = performance.now() + limitMs
  const failed: { readonly day: UtcDay; readonly error: Error }[] = []
  let isAllDone = true
  const closeAll = async (select: string, close: (pool: Postgres, day: UtcDay) => Promise<boolean>) => {
    const closed: UtcDay[] = []
    const { rows } = await pool.query<{ day: UtcDay }>(select)
    for (const { day } of rows) {
      if (performance.now() > untilMs) {
        isAllDone = false
        break
      }
      try {
        if (await close(pool, day)) closed.push(day)
        else isAllDone = false
      } catch (error) {
        const refused = sqlErrorOf(error)
        if (refused === null) throw error
        failed.push({ day, error: refused })
        isAllDone = false
      }
    }
    return closed
  }
  const days = await closeAll(OPEN_DAYS, closeDay)
  const months = await closeAll(OPEN_MONTHS, closeMonth)
  return { days, months, failed, isDone: isAllDone }
}

/**
 * Sums a month up whose days are closed. As with days, no roll-up waits for it.
 *
 * @param month Its first day.
 * @returns `false`: not all days are closed, or one was reopened meanwhile.
 */
export async function closeMonth(pool: Postgres, month: UtcDay): Promise<boolean> {
  const lastDay = addDays(firstOfNextMonth(month), -1)
  return await inTransaction(pool, async (session) => {
    // 1. One at a time.
    await lockClosing(session, 'month', month)
    const attempts = await selectAttempts(session, month, lastDay)
    const days = attempts.map(({ day }) => day)
    if (days.length < Number(lastDay.slice(-2))) return false
    // 2. The sums of what these attempts have summed up, or of more, and then 3 fails.
    await writeMonth(session, month, lastDay)
    // 3. The writers until here are through, and those after it find the marker. So are definitions of prices,
    // where one that comes reopens a day.
    await lockDays(session, days)
    if (attempts.some(({ has_unknown }) => has_unknown)) await lockPrices(session)
    const still = new Set((await selectAttempts(session, month, lastDay)).map(({ attempt }) => attempt))
    if (attempts.some(({ attempt }) => !still.has(attempt))) return false
    await session.query(
      `insert into ${SCHEMA}.summarised_months (month, form) values ($1, ${FORM})
       on conflict (month) do update set form = ${FORM}`,
      [month],
    )
    return true
  })
}

interface Attempt {
  readonly day: UtcDay
  readonly attempt: string
  readonly has_unknown: boolean
}

/** The closed days, rising. */
async function selectAttempts(
  session: PostgresSession,
  fromDay: UtcDay,
  toDay: UtcDay,
): Promise<readonly Attempt[]> {
  const { rows } = await session.query<Attempt>(
    `select day, attempt, unknown_prices is not null as has_unknown from ${SCHEMA}.summarised_days s
     where day between $1 and $2 and ${isDone('s')} order by day`,
    [fromDay, toDay],
  )
  return rows
}

/**
 * Sums a day up. No roll-up waits for it: the day is locked for a moment at both ends, and what is written
 * between them shows in the marker that the writer has deleted.
 *
 * @returns `false`: the day was written meanwhile, or another process has begun it again.
 */
export async function closeDay(pool: Postgres, day: UtcDay): Promise<boolean> {
  // 1. From here on a writer deletes the marker: those before are through, as they share the day's lock.
  const attempt = await inTransaction(pool, async (session) => {
    await lockDays(session, [day])
    return await beginDay(session, day)
  })
  if (attempt === null) return false
  return await inTransaction(pool, async (session) => {
    // 2. One at a time, so that no sums of another one come in between.
    await lockClosing(session, 'day', day)
    // 3. Before the sums: a definition that comes after this is found in 6.
    const unknown = await selectUnknownPrices(session, day)
    // 4. The sums of what 1 has seen, or of more, and then 5 fails.
    await writeDay(session, day)
    const unpricedRows = await writeUnpricedRows(session, day)
    // 5. The writers since 1 are through: without one the marker is still there.
    await lockDays(session, [day])
    // 6. No definition comes in until the commit.
    if (unknown.length > 0 && (await areSomeKnown(session, unknown))) return false
    return await setClosed(session, { day, attempt, unpricedRows, unknown })
  })
}

/** @returns What names this attempt; `null`: the day is closed. */
async function beginDay(session: PostgresSession, day: UtcDay): Promise<string | null> {
  const { rows } = await session.query<{ attempt: string }>(
    `insert into ${SCHEMA}.summarised_days as d (day, attempt) values ($1, gen_random_uuid())
     on conflict (day) do update set attempt = excluded.attempt where not (${isDone('d')}) returning attempt`,
    [day],
  )
  return rows[0]?.attempt ?? null
}

async function selectUnknownPrices(session: PostgresSession, day: UtcDay): Promise<readonly string[]> {
  const { rows } = await session.query<{ price_id: string }>(
    `select distinct price_id from ${SCHEMA}.daily_usage u
     where day = $1 and price_id <> '' and not exists (
       select from ${SCHEMA}.prices p where p.price_id = u.price_id)`,
    [day],
  )
  return rows.map(({ price_id }) => price_id)
}

async function areSomeKnown(session: PostgresSession, priceIds: readonly string[]): Promise<boolean> {
  await lockPrices(session)
  const { rows } = await session.query(`select from ${SCHEMA}.prices where price_id = any($1) limit 1`, [
    priceIds,
  ])
  return rows.length > 0
}

interface Closing {
  readonly day: UtcDay
  readonly attempt: string
  readonly unpricedRows: number
  /** Prices of the day without a definition. */
  readonly unknown: readonly string[]
}

async function setClosed(
  session: PostgresSession,
  { day, attempt, unpricedRows, unknown }: Closing,
): Promise<boolean> {
  const { rowCount } = await session.query(
    `update ${SCHEMA}.summarised_days set closed_at = now(), unpriced_rows = $3, unknown_prices = $4, form = ${FORM}
     where day = $1 and attempt = $2`,
    [day, attempt, unpricedRows, unknown.length === 0 ? null : unknown],
  )
  return rowCount === 1
}
