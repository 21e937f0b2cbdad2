import { type AddressInfo, createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { inTransaction, openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { quiet } from '../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'

let database: TestDatabase
const pools: Postgres[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  await Promise.all(pools.splice(0).map((pool) => pool.end()))
})
afterAll(() => database.drop())

function open(url: string, readsOnly = false): Postgres {
  const pool = openPostgres(url, {
    max: 3,
    statementTimeoutMs: 2_000,
    applicationName: 'test',
    readsOnly,
    log: quiet,
  })
  pools.push(pool)
  return pool
}

/** The database's URL with another server before its own. */
function withFirst(host: string, parameters: Readonly<Record<string, string>> = {}): string {
  const url = new URL(database.url)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  const { username, password, pathname, search } = url
  const server = url.host === '' ? '' : `,${url.host}`
  return `postgres://${username}:${password}@${host}${server}${pathname}${search}`
}

test('a server that is away is passed over, by as many connections as begin at once', async () => {
  const pool = open(withFirst('127.0.0.1:1'))
  const answers = await Promise.all([1, 2, 3].map((it) => pool.query('select $1::int as it', [it])))
  expect(answers.map(({ rows }) => rows[0].it)).toEqual([1, 2, 3])
})

test('a server that accepts and never answers is passed over in time', async () => {
  const silent = createServer()
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  const { port } = silent.address() as AddressInfo
  const pool = open(withFirst(`127.0.0.1:${port}`, { connect_timeout: '1' }))
  expect((await pool.query('select 1 as it')).rows).toEqual([{ it: 1 }])
  silent.close()
})

test('with none that will do, the error names each server and its reason, and no password', async () => {
  const pool = open(withFirst('127.0.0.1:1', { target_session_attrs: 'standby' }))
  const failure = await pool.query('select 1').then(
    () => '',
    ({ message }: Error) => message,
  )
  expect(failure).toMatch(
    /^no PostgreSQL server can be used: 127\.0\.0\.1:1: .*ECONNREFUSED.*; .*is not a standby$/,
  )
  expect(failure).not.toContain(new URL(database.url).password)
})

test.each([
  ['any', 'works'],
  ['read-write', 'works'],
  ['primary', 'works'],
  ['prefer-standby', 'works'],
  ['standby', 'is not a standby'],
  ['read-only', 'can be written to'],
])('a primary for target_session_attrs=%s: %s', async (attrs, expected) => {
  const url = new URL(database.url)
  url.searchParams.set('target_session_attrs', attrs)
  const outcome = await open(url.href)
    .query('select 1')
    .then(() => 'works', String)
  expect(outcome).toContain(expected)
})

test('connections to a server that can no longer be written to are dropped, idle ones too, and made again', async () => {
  const admin = open(database.url)
  const pool = open(database.url)
  await admin.query('create table written (number int)')
  const processOf = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid
  const [first, second] = await Promise.all([
    inTransaction(
      pool,
      async (session) => (await session.query('select pg_backend_pid() as pid')).rows[0].pid,
    ),
    processOf(),
  ])
  // As after a failover behind one address: connections from before see nothing of it until they are made again.
  for (const session of await Promise.all([pool.connect(), pool.connect()])) {
    await session.query('set default_transaction_read_only = on')
    session.release()
  }
  await expect(pool.query('insert into written values (1)')).rejects.toThrow('read-only transaction')
  await pool.query('insert into written values (2)')
  await inTransaction(pool, (session) => session.query('insert into written values (3)'))
  expect([first, second]).not.toContain(await processOf())
  expect((await admin.query('select number from written order by 1')).rows).toEqual([
    { number: 2 },
    { number: 3 },
  ])
})

test('settings of the URL reach the server, and ours win where both name one', async () => {
  const url = new URL(database.url)
  url.searchParams.set('options', '-c work_mem=5MB -c lock_timeout=1h')
  const pool = open(url.href.replaceAll('+', '%20'))
  const { rows } = await pool.query(
    `select current_setting('work_mem') as work_mem, current_setting('lock_timeout') as lock_timeout`,
  )
  expect(rows).toEqual([{ work_mem: '5MB', lock_timeout: '5s' }])
})

test('a URL that cannot work is refused at once, and says nothing of its password', () => {
  expect(() => open('postgres://me:secret@h/d?hostaddr=10.0.0.1')).toThrow(
    /^the PostgreSQL URL cannot have the parameter hostaddr: write the address as the host$/,
  )
})
