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
  await migrateTo(client, '0021')
})
afterEach(async () => {
  await client.end()
  await database.drop()
})

/** What a column has in call i: every one that may be null is so in some calls. */
const VALUES: Readonly<Record<string, string>> = {
  day: `date '2026-01-01' + i % 3`,
  call_id: 'gen_random_uuid()',
  model: `(array['gpt-4o', '(unknown)', '(none)'])[1 + i % 3]`,
  requested_model: `case when i % 5 > 0 then 'asked ' || i % 7 end`,
  reported_model: `case when i % 7 > 0 then 'named ' || i % 5 end`,
  path: `case when i % 2 = 0 then '/v1/chat/completions' else '/v1/responses/resp_0123456789abcdef' || i end`,
  usage_raw: `case when i % 3 > 0 then '{"a":' || i || ',"#":null}' end`,
  client: `'the client ' || i % 4`,
}
const BY_TYPE: Readonly<Record<string, string>> = {
  text: `case when i % 11 > 0 then 'text ' || i % 2 end`,
  boolean: 'i % 2 = 0',
  uuid: 'case when i % 3 = 0 then gen_random_uuid() end',
  'timestamp with time zone': `timestamptz '2026-01-01' + i * interval '1 minute'`,
}

async function fill(): Promise<void> {
  for (let day = 1; day <= 3; day += 1) {
    await client.query(`create table tallygate.calls_2026010${day} partition of tallygate.calls
      for values from ('2026-01-0${day}') to ('2026-01-0${day + 1}')`)
  }
  const { rows } = await client.query<{ name: string; type: string; nullable: string }>(
    `select column_name as name, data_type as type, is_nullable as nullable from information_schema.columns
     where table_schema = 'tallygate' and table_name = 'calls'`,
  )
  const values = rows.map(({ name, type, nullable }, place) => {
    const value = VALUES[name] ?? BY_TYPE[type] ?? `nullif((i * ${place}) % 11, 0)`
    return nullable === 'YES' ? value : type === 'text' ? `coalesce(${value}, 'x')` : value
  })
  await client.query(
    `insert into tallygate.calls (${rows.map(({ name }) => name).join(', ')})
     select ${values.join(', ')} from generate_series(1, 200) i`,
  )
}

async function allCalls(): Promise<unknown[]> {
  const { rows } = await client.query('select to_jsonb(c) as call from tallygate.calls c order by call_id')
  return rows.map(({ call }) => call)
}

/** What was there before, column by column. Columns that later migrations added have to be null. */
function asBefore(calls: readonly unknown[], before: readonly unknown[]): unknown[] {
  const known = new Set(Object.keys(Object(before[0])))
  return calls.map((call) =>
    Object.fromEntries(
      Object.entries(Object(call)).filter(([name, value]) => known.has(name) || value !== null),
    ),
  )
}

async function tables(): Promise<readonly string[]> {
  const { rows } = await client.query(
    `select relname as name from pg_class
     where relnamespace = 'tallygate'::regnamespace and relkind in ('r', 'p', 'v') and relname ~ '^call' order by 1`,
  )
  return rows.map(({ name }) => name)
}

test('every call is read as it was, column by column', async () => {
  await fill()
  const before = await allCalls()
  expect(before).toHaveLength(200)
  await migrate(database.url, quiet)
  expect(asBefore(await allCalls(), before)).toEqual(before)
  expect(await tables()).toEqual([
    'call_kinds',
    'call_outbox',
    'call_outbox_skipped',
    'call_outbox_state',
    'call_rows',
    'call_rows_20260101',
    'call_rows_20260102',
    'call_rows_20260103',
    'calls',
  ])
})

test('a day that an operator detached stays as it is', async () => {
  await fill()
  await client.query('alter table tallygate.calls detach partition tallygate.calls_20260101')
  const before = await allCalls()
  await migrate(database.url, quiet)
  expect(asBefore(await allCalls(), before)).toEqual(before)
  const { rows } = await client.query('select count(*)::int as calls from tallygate.calls_20260101')
  expect(rows).toEqual([{ calls: 66 }])
})

test('a day whose pruning was cut is dropped, detached or not', async () => {
  await fill()
  for (const day of [1, 2])
    await client.query(
      `comment on table tallygate.calls_2026010${day} is 'tallygate: expired, to be dropped'`,
    )
  await client.query('alter table tallygate.calls detach partition tallygate.calls_20260101')
  await client.query('alter table tallygate.calls detach partition tallygate.calls_20260103')
  await migrate(database.url, quiet)
  expect((await tables()).filter((name) => /[0-9]$/.test(name))).toEqual([
    'call_rows_20260102',
    'calls_20260103',
  ])
})

test('who could read the table can read the view', async () => {
  const reader = `reader_${database.url.slice(-16)}`
  await client.query(`create role "${reader}"; grant select on tallygate.calls to "${reader}", public`)
  await migrate(database.url, quiet)
  const { rows } = await client.query(
    `select array_agg(grantee::text order by grantee) as readers from information_schema.table_privileges
     where table_schema = 'tallygate' and table_name = 'calls' and privilege_type = 'SELECT' and grantee <> user`,
  )
  await client.query(`drop owned by "${reader}"; drop role "${reader}"`)
  expect(rows[0]?.readers).toEqual(['PUBLIC', reader])
})

test('the planner knows the calls and kinds of each day at once, and those of a new day within a minute', async () => {
  await fill()
  await migrate(database.url, quiet)
  const { rows } = await client.query(
    `select tablename as name from pg_stats where schemaname = 'tallygate' and attname = 'day' and tablename ~ '^call_'
     order by 1`,
  )
  expect(rows.map(({ name }) => name)).toEqual([
    'call_kinds',
    'call_rows',
    'call_rows_20260101',
    'call_rows_20260102',
    'call_rows_20260103',
  ])
  const { rows: options } = await client.query(
    `select reloptions as set from pg_class where oid = 'tallygate.call_kinds'::regclass`,
  )
  expect(options[0]?.set).toContain('autovacuum_analyze_scale_factor=0')
})

test('with no calls at all the view is there', async () => {
  await migrate(database.url, quiet)
  expect(await allCalls()).toEqual([])
})
