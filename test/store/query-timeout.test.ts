import { afterAll, beforeAll, expect, test } from 'vitest'
import { explainError } from '../../src/doctor/explain-error.ts'
import { isQueryTimeout, openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { quiet } from '../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    max: 2,
    statementTimeoutMs: 100,
    applicationName: 'test',
    log: quiet,
  })
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  )

test('a statement that the server ended at its limit took too long, and says what to narrow', async () => {
  const error = await failureOf(pool.query('select pg_sleep(20)'))
  expect(isQueryTimeout(error)).toBe(true)
  expect(explainError(error)).toBe(
    'it took too long (canceling statement due to statement timeout): narrow it by fewer days, one client, or a grouping less',
  )
})

test('a server that is silent beyond its own limit is away: to ask for less would not help', async () => {
  const config = { text: 'set statement_timeout = 0; select pg_sleep(20)', query_timeout: 50 }
  const error = await failureOf(pool.query(config))
  expect(isQueryTimeout(error)).toBe(false)
  expect(explainError(error)).toBe('Postgres cannot be reached: Query read timeout')
})

test('a store that is away, and one that refuses, did not take too long', async () => {
  const away = openPostgres('postgres://user:x@127.0.0.1:1/none', {
    max: 1,
    statementTimeoutMs: 100,
    applicationName: 'test',
    log: quiet,
  })
  const unreachable = await failureOf(away.query('select 1'))
  await away.end()
  expect(isQueryTimeout(unreachable)).toBe(false)
  expect(explainError(unreachable)).toContain('Postgres cannot be reached')
  expect(isQueryTimeout(await failureOf(pool.query('select * from nothing')))).toBe(false)
})
