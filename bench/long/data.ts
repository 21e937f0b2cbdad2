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

/** Each client has three keys, each of which asks for every model. */
const ADD_KINDS = `
insert into tallygate.call_kinds (day, hash, client_id, client, key_id, upstream, provider, requested_model,
  reported_model, model, method, path, status, outcome, usage_source, failed_in_body, web_socket, partly_unpriced,
  price_id, unpriced_reason)
select $1::date, md5(c || ' ' || k || ' ' || m)::uuid, 'cli_' || lpad(c::text, 8, '0'), 'client ' || c,
  'key_' || c || '_' || k, 'openai', 'openai', 'gpt-4o', 'gpt-4o', 'model-' || m, 'POST', '/v1/chat/completions', 200,
  'complete', 'reported', false, false, false, null, 'no_price'
from generate_series(0, $2::int - 1) c, generate_series(0, 2) k, generate_series(0, $3::int - 1) m`

const ADD_CALLS = `
insert into tallygate.call_rows (day, call_id, arrived_at, kind, input_tokens, output_tokens, cache_read_tokens,
  latency_ms, ttft_ms, cost_pico)
select $1::date, gen_random_uuid(), $1::date + n * interval '1 day' / $2, k.kind, n % 4000, n % 700, n % 1000,
  (n % 90000)::numeric / 10, (n % 9000)::numeric / 10, null
from generate_series($5::bigint, $6::bigint) n
join tallygate.call_kinds k on k.day = $1
  and k.hash = md5((n % $3) || ' ' || (n / $3 % 3) || ' ' || (n / $3 / 3 % $4))::uuid`

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
    await session.query(ADD_KINDS, [KEPT_DAY, clients, models])
    await session.query('vacuum analyze tallygate.call_kinds')
    for (let from = 1; from <= calls; from += CALLS_AT_A_TIME) {
      const to = Math.min(calls, from + CALLS_AT_A_TIME - 1)
      await session.query(ADD_CALLS, [KEPT_DAY, calls, clients, models, from, to])
    }
    await session.query(
      `insert into tallygate.producers (id, stream, mark) values ('bench', 'bench:calls', $1)`,
      [calls],
    )
    await session.query('vacuum analyze tallygate.call_rows, tallygate.call_kinds')
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
