import pg from 'pg'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { migrate } from '../../src/store/connection/migrate.ts'
import { quiet } from '../rollup/records.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/servers/database.ts'
import { migrateTo } from './older-schema.ts'

let database: TestDatabase
let client: pg.Client

beforeEach(async () => {
  database = await createEmptyDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await migrateTo(client, '0010')
})
afterEach(async () => {
  await client.end()
  await database.drop()
})

/** Rows over three years and three clients, each count another prime's multiple, some of them 0. */
async function fill(): Promise<void> {
  const { rows } = await client.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'daily_usage'`,
  )
  const texts: Readonly<Record<string, string>> = {
    day: `(date '2024-01-31' + i * 17)`,
    client_id: `'cli_' || i % 3`,
    key_id: `'key\\' || i`,
    model: `'modèle ' || i % 5`,
    latency_buckets: `case when i % 4 = 0 then '{}' else array(
      select case when b % 7 = i % 7 then i * b else 0 end from generate_series(1, 44) b order by b) end::bigint[]`,
  }
  const values = rows.map(({ name, type }, place) =>
    type === 'text' && texts[name] === undefined ? `'x'` : (texts[name] ?? `(i * ${place}) % 11`),
  )
  await client.query(
    `insert into tallygate.daily_usage (${rows.map(({ name }) => name).join(', ')})
     select ${values.join(', ')} from generate_series(1, 60) i`,
  )
}

async function allRows(): Promise<Record<string, unknown>[]> {
  const { rows } = await client.query<{ row: Record<string, unknown> }>(
    `select to_jsonb(u) - 'latency_buckets' as row from tallygate.daily_usage u order by day, key_id`,
  )
  return rows.map(({ row }) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? 0])),
  )
}

test('every row of every month is moved with all that it holds, zeros as nothing', async () => {
  await fill()
  const before = await allRows()
  expect(before).toHaveLength(60)
  const histograms = `select day, client_id, model, array_agg(calls order by bucket) as calls from (
     select day, client_id, model, bucket, sum(count)::int as calls
     from tallygate.daily_usage, unnest(latency_buckets) with ordinality as b (count, bucket)
     group by 1, 2, 3, 4) b group by 1, 2, 3 having sum(calls) > 0 order by 1, 2, 3`
  const latencies = (await client.query(histograms)).rows
  expect(latencies.length).toBeGreaterThan(20)
  await migrate(database.url, quiet)
  // Columns that came later are beside them.
  expect(await allRows()).toMatchObject(before)
  const moved = await client.query(
    `select day, client_id, model, tallygate.latency_counts(buckets)::int[] as calls
     from tallygate.daily_latency order by 1, 2, 3`,
  )
  expect(moved.rows).toEqual(latencies)
  const zeros = await client.query('select from tallygate.daily_usage where settlements = 0 or images = 0')
  expect(zeros.rowCount).toBe(0)
})

test('an empty database gets this month and the next', async () => {
  await migrate(database.url, quiet)
  const { rows } = await client.query(
    `select count(*)::int as months from pg_inherits where inhparent = 'tallygate.daily_usage'::regclass`,
  )
  expect(rows).toEqual([{ months: 2 }])
})
