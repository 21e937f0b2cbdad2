import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { migrate } from '../../src/store/migrate.ts'
import { openPostgres } from '../../src/store/postgres.ts'
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { quiet } from '../workers/records.ts'

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

test('everything is in one schema, and nothing elsewhere', async () => {
  database = await createEmptyDatabase()
  await migrate(database.url, quiet)
  const pool = openPostgres(database.url, {
    max: 1,
    statementTimeoutMs: 5_000,
    applicationName: 'test',
    log: quiet,
  })
  const { rows } = await pool.query(
    `select distinct n.nspname as schema from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
  )
  await pool.end()
  expect(rows).toEqual([{ schema: 'tallygate' }])
})

test('a server that is away is an error, not a wait', async () => {
  database = await createEmptyDatabase()
  await expect(migrate('postgres://nobody@127.0.0.1:1/nothing', quiet)).rejects.toThrow('ECONNREFUSED')
})
