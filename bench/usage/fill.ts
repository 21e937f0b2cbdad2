import { addDays, type UtcDay } from '../../src/domain/utc-day.ts'
import { addCallDays } from '../../src/rollup/call-days.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { usageShapeOf } from '../../src/usage/calls/call-kinds.ts'

/** What the database is filled with. */
export interface Filling {
  readonly clients: number
  /** UTC days, today the last of them. */
  readonly days: number
  /** Single calls in all, over the newest days; 0: none. */
  readonly calls: number
  /** Absent: as many as `KEYS_PER_CLIENT`, each with all models. */
  readonly keys?: number
  readonly models?: number
}

/** What a filled database holds. */
export interface Filled extends Filling {
  readonly rows: number
  /** By table, indexes included. */
  readonly bytes: Readonly<Record<string, number>>
}

/**
 * Fills a database with what `filling` says from `fromDay` to `today`, but for days that have totals, or calls. So one
 * that was stopped goes on, and one that is full stays as it is, on later days, too.
 */
export async function fill(pool: Postgres, filling: Filling, fromDay: UtcDay, today: UtcDay): Promise<void> {
  const has = async (table: string, column: string, value: string) =>
    (await pool.query(`select from tallygate.${table} where ${column} = $1 limit 1`, [value])).rows.length > 0
  if (!(await has('producers', 'id', PRODUCER))) {
    await fillNames(pool, filling)
    await pool.query(
      `select tallygate.add_usage_months(array_agg(day::date))
       from generate_series($1::date, $2::date, interval '1 day') day`,
      [fromDay, today],
    )
    for (let day = fromDay; day <= today; day = addDays(day, 1)) {
      if (await has('daily_usage', 'day', day)) continue
      // The totals last: a day that has them is whole.
      await fillLatencies(pool, day, filling)
      await fillDay(pool, day, filling)
      if (day.endsWith('-01')) console.error(`filled until ${day}`)
    }
    await matchOffsets(pool)
    await pool.query('vacuum analyze')
  }
  if (filling.calls === 0) return
  const { rows } = await pool.query<{ day: UtcDay }>(
    'select max(day)::text as day from tallygate.daily_usage',
  )
  const lastDay = rows[0]?.day ?? today
  const callDays = Math.min(CALL_DAYS, filling.days)
  const added: UtcDay[] = []
  for (let day = addDays(lastDay, 1 - callDays); day <= lastDay; day = addDays(day, 1)) {
    if (await has('call_rows', 'day', day)) continue
    if (added.length === 0) await addCallDays(pool, CALL_DAYS)
    await fillCalls(pool, day, Math.floor(filling.calls / callDays), filling)
    added.push(day)
  }
  if (added.length > 0) await pool.query('vacuum analyze tallygate.call_rows, tallygate.call_kinds')
}

const PRODUCER = 'bench'

/** One producer that has counted all requests: the ledger is whole. */
async function matchOffsets(pool: Postgres): Promise<void> {
  await pool.query(
    `insert into tallygate.producers (id, stream, mark)
     select $1, 'tallygate:calls', sum(requests) from tallygate.daily_usage`,
    [PRODUCER],
  )
}

/** How much there is. */
export async function describeFilled(pool: Postgres, filling: Filling): Promise<Filled> {
  const { rows } = await pool.query<{ table: string; bytes: string }>(
    `select coalesce(p.relname, c.relname) as table, sum(pg_total_relation_size(c.oid)) as bytes
     from pg_class c left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent
     where c.relnamespace = 'tallygate'::regnamespace and c.relkind = 'r'
     group by 1 having sum(pg_total_relation_size(c.oid)) > 1000000 order by 2 desc`,
  )
  const counts = await pool.query<{ rows: string; calls: string }>(
    `select (select count(*) from tallygate.daily_usage) as rows, (select count(*) from tallygate.calls) as calls`,
  )
  return {
    ...filling,
    rows: Number(counts.rows[0]?.rows),
    calls: Number(counts.rows[0]?.calls),
    bytes: Object.fromEntries(rows.map(({ table, bytes }) => [table, Number(bytes)])),
  }
}

const KEYS_PER_CLIENT = 9
/**
 * Models of the totals, which of every thousand rows of a model have no price, and how its usage is written: by
 * OpenAI, Anthropic, and vLLM.
 */
const MODELS = [
  {
    model: 'gpt-4o-mini-2024-07-18',
    unpriced: 0,
    raw: '{"prompt_tokens":1009,"completion_tokens":203,"total_tokens":1212,"prompt_tokens_details":{"cached_tokens":300,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":50,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}',
  },
  {
    model: 'claude-sonnet-4-5-20250929',
    unpriced: 0,
    raw: '{"input_tokens":709,"cache_creation_input_tokens":0,"cache_read_input_tokens":300,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":0},"output_tokens":203,"service_tier":"standard"}',
  },
  {
    model: 'llama-3.3-70b-instruct-fp8',
    unpriced: 20,
    raw: '{"prompt_tokens":1009,"total_tokens":1212,"completion_tokens":203,"prompt_tokens_details":null}',
  },
]
/** Calls of a row at most. The calls of a day are then about as many as its totals say. */
const MOST_CALLS_OF_ROW = 20
export const ROWS_PER_CLIENT_AND_DAY = KEYS_PER_CLIENT * MODELS.length
/** As long as calls are kept by default. */
const CALL_DAYS = 35
/** As long as real ones: a kind, and 20 characters. */
const clientId = (number: string) => `'cli_' || substr(md5('client ' || ${number}), 1, 20)`
const keyId = (client: string, key: string) =>
  `'key_' || substr(md5('key ' || ${client} || ' ' || ${key}), 1, 20)`

/** Clients, their keys and prices; those that are there already stay. */
async function fillNames(pool: Postgres, { clients, keys = KEYS_PER_CLIENT }: Filling): Promise<void> {
  await pool.query(
    `insert into tallygate.clients (id, name, version)
     select ${clientId('c')}, 'client ' || c, 0 from generate_series(1, $1::int) c on conflict do nothing`,
    [clients],
  )
  await pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     select ${keyId('c', 'k')}, ${clientId('c')}, 'key ' || k, 'tg_',
       sha256(convert_to(c || ' ' || k, 'UTF8')), 'bench', 0
     from generate_series(1, $1::int) c, generate_series(1, $2::int) k on conflict do nothing`,
    [clients, keys],
  )
  await pool.query(
    `insert into tallygate.prices (price_id, definition)
     select price_id, definition::jsonb from unnest($1::text[], $2::text[]) p (price_id, definition)
     on conflict do nothing`,
    [MODELS.map(priceIdOf), MODELS.map((_, index) => (index === 1 ? '{"unpriced":["images"]}' : '{}'))],
  )
}

const priceIdOf = ({ model }: { readonly model: string }) => `openai/${model}#std.0123456789ab`

/** What each column of a row holds; what is not here is 0. */
const FIGURES: Readonly<Record<string, string>> = {
  day: '$1::date',
  client_id: clientId('c'),
  key_id: keyId('c', 'k'),
  model: '($3::text[])[m]',
  upstream: `'default'`,
  price_id: `case when is_unpriced then '' else ($4::text[])[m] end`,
  provider: `'openai'`,
  requests: 'r',
  reported: 'r - r / 50',
  estimated: 'r / 50',
  unpriced: 'case when is_unpriced then r else 0 end',
  errors: 'r / 100',
  input_tokens: 'r * 1000 + r * k',
  output_tokens: 'r * 200 + r * m',
  cache_read_tokens: 'r * 300',
  reasoning_tokens: 'r * 50',
  estimated_input_tokens: 'nullif(r / 50 * 1000, 0)',
  estimated_output_tokens: 'nullif(r / 50 * 200, 0)',
  latency_us_sum: 'r * 1200000',
  latency_count: 'r',
  cost_pico: 'case when is_unpriced then 0 else r * 270000000::numeric end',
}

/** A day's totals, its rows in random order, as they would come in over the day. */
async function fillDay(
  pool: Postgres,
  day: string,
  { clients, keys = KEYS_PER_CLIENT, models = MODELS.length }: Filling,
): Promise<void> {
  const { rows } = await pool.query<{ name: string; isNeeded: boolean }>(
    `select column_name as name, column_default is null and is_nullable = 'NO' as "isNeeded"
     from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'daily_usage' and is_generated = 'NEVER'
     order by ordinal_position`,
  )
  const columns = rows.flatMap(({ name, isNeeded }) => {
    const figure = FIGURES[name] ?? (isNeeded ? '0' : null)
    return figure === null ? [] : [{ name, figure }]
  })
  await pool.query('select tallygate.add_usage_months($1)', [[day]])
  await pool.query(
    `insert into tallygate.daily_usage (${columns.map(({ name }) => name).join(', ')})
     select ${columns.map(({ figure }) => figure).join(', ')}
     from (
       select c, k, m, 1 + (random() * ${MOST_CALLS_OF_ROW})::int as r, random() * 1000 < ($5::int[])[m] as is_unpriced
       from generate_series(1, $2::int) c, generate_series(1, $6::int) k, generate_series(1, $7::int) m offset 0) f
     order by md5($1 || ' ' || c || ' ' || k || ' ' || m)`,
    [
      day,
      clients,
      MODELS.map(({ model }) => model),
      MODELS.map(priceIdOf),
      MODELS.map(({ unpriced }) => unpriced),
      keys,
      models,
    ],
  )
}

/** What the histograms of latencies of a day look like: calls in some neighbouring buckets. */
async function fillLatencies(pool: Postgres, day: UtcDay, { clients }: Filling): Promise<void> {
  await pool.query(
    `insert into tallygate.daily_latency (day, client_id, model, buckets, first_bytes)
     select $1::date, ${clientId('c')}, ($3::text[])[m], calls * (1e240 + 1e252 + 1e264), calls * (1e192 + 2e204)
     from generate_series(1, $2::int) c, generate_series(1, ${MODELS.length}) m, lateral (
       select 1 + (random() * 900 + 0 * (c + m))::int as calls) drawn order by random()
     on conflict do nothing`,
    [day, clients, MODELS.map(({ model }) => model)],
  )
}

/** Single calls of one of the newest days, whose partition is there. */
async function fillCalls(pool: Postgres, day: string, calls: number, { clients }: Filling): Promise<void> {
  const usages = MODELS.map(({ raw }) => usageShapeOf(raw))
  await pool.query(
    `insert into tallygate.call_kinds (day, hash, client_id, client, key_id, upstream, provider, requested_model,
       reported_model, model, method, path, status, outcome, usage_source, failed_in_body, web_socket,
       partly_unpriced, price_id, unpriced_reason, usage_shape)
     select $1::date, ${kindHash('is_unpriced')}, ${clientId('c')}, 'client ' || c, ${keyId('c', 'k')}, 'default',
       'openai', ($3::text[])[m], ($3::text[])[m], ($3::text[])[m], 'POST', '/v1/chat/completions', 200, 'complete',
       'reported', false, false, false, case when is_unpriced then '' else ($4::text[])[m] end,
       case when is_unpriced then 'no_price' end, ($5::text[])[m]
     from generate_series(1, $2::int) c, generate_series(1, ${KEYS_PER_CLIENT}) k,
       generate_series(1, ${MODELS.length}) m, unnest(array[true, false]) is_unpriced
     where not is_unpriced or ($6::int[])[m] > 0
     on conflict do nothing`,
    [
      day,
      clients,
      MODELS.map(({ model }) => model),
      MODELS.map(priceIdOf),
      usages.map((usage) => usage?.shape),
      MODELS.map(({ unpriced }) => unpriced),
    ],
  )
  await pool.query('vacuum analyze tallygate.call_kinds')
  await pool.query(
    `insert into tallygate.call_rows (day, call_id, arrived_at, kind, input_tokens, output_tokens, cache_read_tokens,
       reasoning_tokens, latency_ms, ttft_ms, cost_pico, response_id, usage_digits)
     select $1::date, uuidv7(), $1::date + i * interval '1 day' / ($2 + 1), f.kind, 1000 + k, 200 + m, 300, 50, 1200,
       300, case when is_unpriced then null else 270000000 end, 'chatcmpl-' || substr(md5(i::text), 1, 29),
       ($5::text[])[m]
     from (
       select i, 1 + (random() * ($3::int - 1))::int as c, 1 + (random() * ${KEYS_PER_CLIENT - 1})::int as k, m,
         random() * 1000 < ($4::int[])[m] as is_unpriced
       from generate_series(1, $2::bigint) i,
         lateral (select 1 + (i % ${MODELS.length}) as m) o) o
     join tallygate.call_kinds f on f.day = $1 and f.hash = ${kindHash('is_unpriced')}`,
    [day, calls, clients, MODELS.map(({ unpriced }) => unpriced), usages.map((usage) => usage?.digits)],
  )
}

/** Of a kind, for the bench to find it by. */
function kindHash(isUnpriced: string): string {
  return `md5(c || ' ' || k || ' ' || m || ' ' || ${isUnpriced})::uuid`
}
