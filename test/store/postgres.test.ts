import { afterAll, beforeAll, expect, test } from 'vitest'
import { lockForRollUp } from '../../src/store/connection/advisory-locks.ts'
import {
  inTransaction,
  openPostgres,
  type Postgres,
  sqlStateOf,
} from '../../src/store/connection/postgres.ts'
import { setInTransactions } from '../../src/store/connection/sessions/session-settings.ts'
import { quiet } from '../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'

let database: TestDatabase
let pool: Postgres
let admin: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  const open = (applicationName: string) =>
    openPostgres(database.url, { max: 3, statementTimeoutMs: 2_000, applicationName, log: quiet })
  pool = open('test cut')
  admin = open('test admin')
  await admin.query('create table numbers (number int primary key)')
})
afterAll(async () => {
  await Promise.all([pool.end(), admin.end()])
  await database.drop()
})

const cutAll = () =>
  admin.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'test cut' and datname = current_database()`,
  )
const numbers = async () => (await admin.query('select number from numbers order by 1')).rows

test('a session is bounded in every way a frozen process could hold a lock, and a commit is on disk', async () => {
  const names = [
    'idle_in_transaction_session_timeout',
    'statement_timeout',
    'lock_timeout',
    'synchronous_commit',
    'TimeZone',
  ]
  const values = await Promise.all(names.map((name) => pool.query(`show ${name}`)))
  expect(values.map(({ rows }) => Object.values(rows[0])[0])).toEqual(['10s', '2s', '5s', 'on', 'UTC'])
})

test('a pool of reports groups in the memory that it asks for, behind a pooler too', async () => {
  const shown = async (pool: Postgres) => (await pool.query('show work_mem')).rows
  const limits = { max: 1, statementTimeoutMs: 2_000, applicationName: 'memory', log: quiet }
  const reports = openPostgres(database.url, { ...limits, workMemoryMb: 32 })
  expect(await shown(reports)).toEqual([{ work_mem: '32MB' }])
  const session = await reports.connect()
  await session.query('set work_mem to default')
  setInTransactions(session, { statementTimeoutMs: 2_000, workMemoryMb: 33 })
  session.release()
  expect(await shown(reports)).toEqual([{ work_mem: '33MB' }])
  await reports.end()
})

test('whole numbers and dates arrive as they are', async () => {
  const { rows } = await pool.query(
    `select 9007199254740993::int8 as big, 1e37::numeric(38, 0) as huge, date '2026-03-01' as day`,
  )
  expect(rows[0]).toEqual({ big: '9007199254740993', huge: `1${'0'.repeat(37)}`, day: '2026-03-01' })
})

test('a transaction is all or nothing, and its connection is good for the next one', async () => {
  await inTransaction(pool, (session) => session.query('insert into numbers values (1)'))
  const twice = inTransaction(pool, async (session) => {
    await session.query('insert into numbers values (2)')
    await session.query('insert into numbers values (1)')
  })
  await expect(twice).rejects.toSatisfy((error) => sqlStateOf(error) === '23505')
  await inTransaction(pool, (session) => session.query('insert into numbers values (3)'))
  expect(await numbers()).toEqual([{ number: 1 }, { number: 3 }])
})

test('a failure that was swallowed inside a transaction does not pass for a commit', async () => {
  const swallowed = inTransaction(pool, async (session) => {
    await session.query('insert into numbers values (10)')
    await session.query('insert into nowhere values (1)').catch(() => {})
  })
  await expect(swallowed).rejects.toThrow('rolled back')
  expect(await numbers()).not.toContainEqual({ number: 10 })
})

test('connections cut while idle, in use, or just handed out cost an error at most, never the process', async () => {
  for (let round = 0; round < 20; round += 1) {
    const work = [1, 2, 3].map(() =>
      inTransaction(pool, (session) => session.query('select pg_sleep(0.005)')).catch(() => {}),
    )
    await cutAll()
    await Promise.all(work)
  }
  await expect.poll(() => pool.query('select 1').then(() => 'works', String)).toBe('works')
})

test('a worker that is frozen in its transaction loses it, and the shard is free for another', async () => {
  const frozen = await pool.connect()
  await frozen.query(`set idle_in_transaction_session_timeout = '300ms'`)
  await frozen.query('begin')
  expect(await lockForRollUp(frozen, 'stream', [])).toBe(true)
  await frozen.query('insert into numbers values (20)')
  expect(await inTransaction(admin, (session) => lockForRollUp(session, 'stream', []))).toBe(false)
  await expect.poll(() => inTransaction(admin, (session) => lockForRollUp(session, 'stream', []))).toBe(true)
  await expect(frozen.query('commit')).rejects.toThrow()
  frozen.release(true)
  expect(await numbers()).not.toContainEqual({ number: 20 })
})
