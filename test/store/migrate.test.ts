import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import pg from 'pg'
import { afterEach, expect, test } from 'vitest'
import { migrate } from '../../src/store/connection/migrate.ts'
import { KEY_COLUMNS } from '../../src/usage/daily-key.ts'
import { DIMENSIONS } from '../../src/usage/dimensions.ts'
import { CORRECTIONS, METRICS, sqlTypeOf } from '../../src/usage/metrics-table.ts'
import { quiet } from '../rollup/records.ts'
import { createEmptyDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'

let database: TestDatabase

afterEach(() => database.drop())

const all = readdirSync('src/store/migrations')
  .map((file) => basename(file, '.sql'))
  .sort()

test('every migration is applied once, in order, also when two start at once', async () => {
  database = await createEmptyDatabase()
  const runs = await Promise.all([migrate(database.url, quiet), migrate(database.url, quiet)])
  expect(runs.filter((applied) => applied.length > 0)).toEqual([all])
  expect(await migrate(database.url, quiet)).toEqual([])
})

test('one that a database missed is applied, also behind later ones', async () => {
  database = await createEmptyDatabase()
  await migrate(database.url, quiet)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`
    drop table tallygate.current_price_catalogs, tallygate.price_catalogs, tallygate.price_refreshes;
    delete from tallygate.migrations where name = '0008_price_catalogs'`)
  expect(await migrate(database.url, quiet)).toEqual(['0008_price_catalogs'])
  expect((await client.query('select from tallygate.price_catalogs')).rowCount).toBe(0)
  await client.end()
})

test('everything is in one schema, and nothing elsewhere', async () => {
  database = await createEmptyDatabase()
  await migrate(database.url, quiet)
  const pool = openTestPool(database.url, { max: 1 })
  const { rows } = await pool.query(
    `select distinct n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
  )
  await pool.end()
  expect(rows).toEqual([{ schema: 'tallygate' }])
})

test('the session of a migration has ended once it is done', async () => {
  database = await createEmptyDatabase()
  await migrate(database.url, quiet)
  expect(await sessionsOfMigrations()).toEqual([])
})

test('a session that the server ends fails the migration, and nothing else', async () => {
  database = await createEmptyDatabase()
  await migrate(database.url, quiet)
  const holder = new pg.Client({ connectionString: database.url })
  await holder.connect()
  // The lock that one runner holds while another waits.
  await holder.query('select pg_advisory_lock(1952541804)')
  const waiting = migrate(database.url, quiet)
  const failed = expect(waiting).rejects.toThrow('terminating connection due to administrator command')
  await expect.poll(async () => (await sessionsOfMigrations()).map(({ waits }) => waits)).toEqual(['Lock'])
  await holder.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'tallygate migrate'`,
  )
  await failed
  await holder.end()
})

async function sessionsOfMigrations(): Promise<readonly { readonly waits: string }[]> {
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query(
    `select wait_event_type as waits from pg_stat_activity
     where datname = current_database() and application_name = 'tallygate migrate'`,
  )
  await client.end()
  return rows
}

test('a server that is away is an error, not a wait', async () => {
  database = await createEmptyDatabase()
  await expect(migrate('postgres://nobody@127.0.0.1:1/nothing', quiet)).rejects.toThrow('ECONNREFUSED')
})

test('daily usage has exactly the columns of the tables of dimensions and metrics', async () => {
  const columns = await columnsOf('daily_usage')
  const wanted = [
    ...DIMENSIONS.map(({ column, type = 'text' }) => [column, type]),
    ...METRICS.map((metric) => [metric.column, sqlTypeOf(metric)]),
    ...CORRECTIONS.map(({ column, type }) => [column, type]),
  ]
  expect(columns.map(({ name, type }) => [name, type]).sort()).toEqual(wanted.sort())
})

test('exactly the rare columns of daily usage may be null, which stands for 0', async () => {
  const rare = [...METRICS, ...CORRECTIONS].filter(({ rare }) => rare).map(({ column }) => column)
  const nullable = (await columnsOf('daily_usage')).filter((column) => column.nullable)
  expect(nullable.map(({ name }) => name).sort()).toEqual(rare.sort())
})

test('the rows of daily usage are unique by the key of the dimensions, which is that of its corrections', async () => {
  const [index] = await select<{ definition: string }>(
    `select indexdef as definition from pg_indexes where schemaname = 'tallygate' and indexname = 'daily_usage_row'`,
  )
  expect(index?.definition).toContain('UNIQUE')
  const indexed = index?.definition.match(/btree \((.*)\)$/)?.[1]?.match(/[a-z_]+(?=[,)]|$)/g)
  expect(indexed?.toSorted()).toEqual([...KEY_COLUMNS].sort())
  expect(await primaryKeyOf('adjustment_entries')).toEqual(['adjustment_id', ...KEY_COLUMNS])
})

test('calls have every dimension, null only where totals take it as empty', async () => {
  const columns = [...(await columnsOf('call_kinds')), ...(await columnsOf('call_rows'))]
  const shown = (await columnsOf('calls')).map(({ name }) => name)
  for (const { column, type = 'text', nullable = false } of DIMENSIONS) {
    expect(columns).toContainEqual({ name: column, type, nullable })
    expect(shown).toContain(column)
  }
})

test('objects keep what a job takes from the call that submitted it', async () => {
  const columns = (await columnsOf('objects')).map(({ name }) => name)
  for (const { column, bySubmitter } of DIMENSIONS)
    if (bySubmitter === true) expect(columns).toContain(column)
})

async function columnsOf(
  table: string,
): Promise<readonly { name: string; type: string; nullable: boolean }[]> {
  return await select(
    `select column_name as name, data_type as type, is_nullable = 'YES' as nullable
     from information_schema.columns where table_schema = 'tallygate' and table_name = '${table}'`,
  )
}

async function primaryKeyOf(table: string): Promise<readonly string[]> {
  const columns = await select<{ name: string }>(
    `select a.attname as name
     from pg_index i, unnest(i.indkey) with ordinality as key (number, place)
     join pg_attribute a on a.attnum = key.number and a.attrelid = 'tallygate.${table}'::regclass
     where i.indrelid = 'tallygate.${table}'::regclass and i.indisprimary order by key.place`,
  )
  return columns.map(({ name }) => name)
}

/** On a new, migrated database. */
async function select<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
  database = await createEmptyDatabase()
  await migrate(database.url, quiet)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  const { rows } = await client.query<Row>(sql)
  await client.end()
  await database.drop()
  return rows
}
