import type { Period } from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { inTransaction, type Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { ReplayedSums } from '../replay/client-replays.ts'

/**
 * Writes down what a limit would have refused on a day, in the place of what was written before. A limit that was
 * dropped meanwhile is left out.
 */
export async function writeTriedDay(
  pool: Postgres,
  limitId: string,
  day: UtcDay,
  sums: ReadonlyMap<string, ReplayedSums>,
  countedAtMs: number,
): Promise<void> {
  const all = [...sums.values()]
  const refusing = [...sums].filter(([, { refused }]) => refused > 0)
  const sumOf = (of: (one: ReplayedSums) => number) => all.reduce((sum, one) => sum + of(one), 0)
  const pico = all.reduce((sum, { refusedPico }) => sum + refusedPico, 0n)
  const times = refusing
    .flatMap(([, { firstRefusedAtMs, lastRefusedAtMs }]) => [firstRefusedAtMs ?? 0, lastRefusedAtMs ?? 0])
    .toSorted((a, b) => a - b)
  const momentOf = (ms: number | undefined) => (ms === undefined ? null : new Date(ms))
  await inTransaction(pool, async (session) => {
    const { rows } = await session.query(
      `select from ${SCHEMA}.tried_limits where id = $1 for no key update`,
      [limitId],
    )
    if (rows.length === 0) return
    await session.query(`delete from ${SCHEMA}.tried_limit_days where limit_id = $1 and day = $2`, [
      limitId,
      day,
    ])
    await session.query(
      `insert into ${SCHEMA}.tried_limit_days
         (limit_id, day, calls, refused, refused_pico, first_refused_at, last_refused_at, counted_at)
       values ($1, $2, $3, $4, $5, $6, $7, $8)`,
      [
        ...[limitId, day, sumOf(({ calls }) => calls), sumOf(({ refused }) => refused), `${pico}`],
        ...[momentOf(times[0]), momentOf(times.at(-1)), new Date(countedAtMs)],
      ],
    )
    await session.query(
      `insert into ${SCHEMA}.tried_limit_clients (limit_id, day, client_id, calls, refused, refused_pico, spared_pico)
       select $1, $2, * from unnest($3::text[], $4::bigint[], $5::bigint[], $6::numeric[], $7::numeric[])`,
      [
        ...[limitId, day, refusing.map(([id]) => id)],
        ...[refusing.map(([, { calls }]) => calls), refusing.map(([, { refused }]) => refused)],
        refusing.map(([, { refusedPico }]) => `${refusedPico}`),
        refusing.map(([, { sparedPico }]) => `${sparedPico}`),
      ],
    )
  })
}

/** What budgets of clients would not have been charged in these days, by client. */
export async function selectSpared(
  pool: Postgres,
  limitId: string,
  clientIds: readonly string[],
  { fromDay, toDay }: Period,
): Promise<ReadonlyMap<string, bigint>> {
  const { rows } = await pool.query<{ client_id: string; pico: string }>(
    `select client_id, sum(spared_pico) as pico from ${SCHEMA}.tried_limit_clients
     where limit_id = $1 and client_id = any($2) and day between $3 and $4 group by client_id`,
    [limitId, clientIds, fromDay, toDay],
  )
  return new Map(rows.map(({ client_id: id, pico }) => [id, BigInt(pico)]))
}

/** Records of a day may still come in for so long after its end. */
const DAY_ENDS_LATE = "interval '1 day 1 hour'"

/** The last day of each tried limit that is counted for good, by its id. */
export async function selectDoneDays(pool: Postgres): Promise<ReadonlyMap<string, UtcDay>> {
  const { rows } = await pool.query<{ limit_id: string; day: UtcDay }>(
    `select limit_id, max(day) as day from ${SCHEMA}.tried_limit_days
     where counted_at at time zone 'UTC' >= day + ${DAY_ENDS_LATE} group by limit_id`,
  )
  return new Map(rows.map(({ limit_id: id, day }) => [id, day]))
}

/** What a tried limit would have refused in some days. */
export interface TriedSums {
  readonly calls: number
  readonly refused: number
  /** What those cost, pico-USD. */
  readonly refusedPico: bigint
  /** `null`: none was refused. */
  readonly firstRefusedAt: Date | null
  readonly lastRefusedAt: Date | null
  readonly countedAt: Date
}

/**
 * The sums of each limit, by its id; one without a counted day is absent.
 *
 * @param days `null`: all.
 */
export async function sumTriedDays(
  pool: Postgres,
  days: Period | null,
): Promise<ReadonlyMap<string, TriedSums>> {
  const { rows } = await pool.query<{
    limit_id: string
    calls: string
    refused: string
    pico: string
    first: Date | null
    last: Date | null
    counted_at: Date
  }>(
    `select limit_id, sum(calls) as calls, sum(refused) as refused, sum(refused_pico) as pico,
       min(first_refused_at) as first, max(last_refused_at) as last, max(counted_at) as counted_at
     from ${SCHEMA}.tried_limit_days where day >= coalesce($1, day) and day <= coalesce($2, day) group by limit_id`,
    [days?.fromDay ?? null, days?.toDay ?? null],
  )
  return new Map(
    rows.map((row) => [
      row.limit_id,
      {
        ...{ calls: Number(row.calls), refused: Number(row.refused), refusedPico: BigInt(row.pico) },
        ...{ firstRefusedAt: row.first, lastRefusedAt: row.last, countedAt: row.counted_at },
      },
    ]),
  )
}

/** A client of which a tried limit would have refused calls. */
export interface TriedClient {
  readonly limit_id: string
  /** Its name. */
  readonly client: string
  readonly refused: string
  readonly pico: string
}

const MOST_CLIENTS = 10

/** Those of a day with most refused calls first, at most ten of each limit. */
export async function selectTriedClients(pool: Postgres, day: UtcDay): Promise<readonly TriedClient[]> {
  const { rows } = await pool.query<TriedClient>(
    `select limit_id, client, refused, pico from (
       select t.limit_id, c.name as client, t.refused, t.refused_pico as pico,
         row_number() over (partition by t.limit_id order by t.refused desc, c.name) as place
       from ${SCHEMA}.tried_limit_clients t join ${SCHEMA}.clients c on c.id = t.client_id where t.day = $1) most
     where place <= ${MOST_CLIENTS} order by limit_id, place`,
    [day],
  )
  return rows
}
