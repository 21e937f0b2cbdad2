import { addDays, type UtcDay, utcDayOf } from '../../src/domain/utc-day.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { addCallDay } from '../../src/usage/calls/call-partitions.ts'

/** What the database is filled with. */
export interface DataShape {
  /** Of the one day whose single calls are kept. */
  readonly calls: number
  readonly clients: number
  readonly models: number
  /** Days of totals, that one included. */
  readonly days: number
}

/** The day whose calls are kept: not today, so that nothing but the bench touches it. */
export const KEPT_DAY = addDays(utcDayOf(Date.now()), -2)
export const firstDayOf = ({ days }: DataShape): UtcDay => addDays(KEPT_DAY, 1 - days)

/** A price of this id has no definition, so verify names each row; one of '' is of unpriced calls. */
const ADD_CALLS = `
insert into tallygate.calls (day, call_id, arrived_at, client_id, client, key_id, upstream, provider,
  requested_model, reported_model, model, method, path, status, outcome, usage_source, failed_in_body, web_socket,
  input_tokens, output_tokens, cache_read_tokens, latency_ms, ttft_ms, cost_pico, price_id, unpriced_reason)
select $1::date, gen_random_uuid(), $1::date + n * interval '1 day' / $2, 'cli_' || lpad((n % $3)::text, 8, '0'),
  'client ' || (n % $3), 'key_' || (n % $3) || '_' || (n / $3 % 3), 'openai', 'openai', 'gpt-4o', 'gpt-4o',
  'model-' || (n / $3 / 3 % $4), 'POST', '/v1/chat/completions', 200, 'complete', 'reported', false, false,
  n % 4000, n % 700, n % 1000, (n % 90000)::numeric / 10, (n % 9000)::numeric / 10, null, null, 'no_price'
from generate_series($5::bigint, $6::bigint) n`

/** The driver gives up on a statement that takes more than ten minutes. */
const CALLS_AT_A_TIME = 500_000

/** Makes clients and one day of calls. Its totals are made by a rebuild, which is measured. */
export async function addCallsOfDay(pool: Postgres, { calls, clients, models }: DataShape): Promise<void> {
  const session = await pool.connect()
  try {
    await session.query('set statement_timeout = 0')
    await addCallDay(session, KEPT_DAY)
    await session.query(
      `insert into tallygate.clients (id, name, version)
       select 'cli_' || lpad(n::text, 8, '0'), 'client ' || n, 0 from generate_series(0, $1::int - 1) n`,
      [clients],
    )
    for (let from = 1; from <= calls; from += CALLS_AT_A_TIME) {
      const to = Math.min(calls, from + CALLS_AT_A_TIME - 1)
      await session.query(ADD_CALLS, [KEPT_DAY, calls, clients, models, from, to])
    }
    await session.query(
      `insert into tallygate.producers (id, stream, mark) values ('bench', 'bench:calls', $1)`,
      [calls],
    )
    await session.query('vacuum analyze tallygate.calls')
  } finally {
    session.release(true)
  }
}

/** Repeats the totals of the kept day on the days before, as the export of a long time needs. */
export async function addPastDays(pool: Postgres, { days, calls }: DataShape): Promise<void> {
  const session = await pool.connect()
  try {
    await session.query('set statement_timeout = 0')
    await session.query(
      `select tallygate.add_usage_months(array_agg(day::date))
       from generate_series($1::date, $2::date, interval '1 day') day`,
      [addDays(KEPT_DAY, 1 - days), KEPT_DAY],
    )
    for (let back = 1; back < days; back += 1) {
      await session.query(
        `insert into tallygate.daily_usage select r.* from tallygate.daily_usage u,
           jsonb_populate_record(u, jsonb_build_object('day', $2::date)) r where u.day = $1`,
        [KEPT_DAY, addDays(KEPT_DAY, -back)],
      )
    }
    await session.query(`update tallygate.producers set mark = $1 where id = 'bench'`, [calls * days])
    await session.query('vacuum analyze tallygate.daily_usage')
  } finally {
    session.release(true)
  }
}

export async function countRows(pool: Postgres): Promise<number> {
  const { rows } = await pool.query<{ count: string }>(`select count(*) from tallygate.daily_usage`)
  return Number(rows[0]?.count ?? 0)
}
