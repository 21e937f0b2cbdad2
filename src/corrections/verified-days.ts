import type { UtcDay } from '../domain/utc-day.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'

/** What names the summing up of a closed day: every write to rows of the day deletes it. `null`: there is none. */
export async function findAttempt(pool: Postgres, day: UtcDay): Promise<string | null> {
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
export async function addVerifiedDay(pool: Postgres, day: UtcDay, attempt: string): Promise<void> {
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
export async function selectVerifiedDays(pool: Postgres): Promise<ReadonlySet<UtcDay>> {
  const { rows } = await pool.query<{ day: UtcDay }>(
    `select v.day from ${SCHEMA}.verified_days v
     join ${SCHEMA}.summarised_days s on s.day = v.day and s.attempt = v.attempt
     where v.verified_at > now() - interval '${VERIFIED_FOR}'`,
  )
  return new Set(rows.map(({ day }) => day))
}
