import { afterAll, beforeAll, expect, test } from 'vitest'
import { migrate } from '../../../src/store/connection/migrate.ts'
import type { Postgres } from '../../../src/store/connection/postgres.ts'
import { waitForReplica } from '../../../src/store/replica/replica-lag.ts'
import { replicaReports } from '../../../src/store/replica/reports.ts'
import { json, run } from '../../cli/command-line.ts'
import { quiet } from '../../rollup/records.ts'
import { openTestPool } from '../../support/servers/database.ts'
import { startPrivatePostgres, type TestServer } from '../../support/servers/servers.ts'
import { type Standby, startStandby } from '../../support/servers/standby.ts'

let server: TestServer
let standby: Standby
let primary: Postgres
let replica: Postgres

const open = (url: string) => openTestPool(url, { statementTimeoutMs: 3_000 })
const inRecovery = async (pool: Postgres) =>
  (await pool.query('select pg_is_in_recovery() as is')).rows[0].is as boolean

beforeAll(async () => {
  server = await startPrivatePostgres()
  await migrate(server.url, quiet)
  standby = await startStandby(server)
  primary = open(server.url)
  replica = open(standby.urlOf(server.url))
})
afterAll(async () => {
  await Promise.all([primary?.end(), replica?.end()])
  await standby?.stop()
  await server?.stop()
})

test('a replica that was waited for has all that was committed before', async () => {
  for (let n = 1; n <= 20; n += 1) {
    await primary.query(`insert into tallygate.catalogs (source, data) values ($1, '')`, [`source ${n}`])
    expect(await waitForReplica(primary, replica)).toMatchObject({ kind: 'near' })
    const { rows } = await replica.query('select count(*)::int as count from tallygate.catalogs')
    expect(rows).toEqual([{ count: n }])
  }
})

test('reports come from the replica while it is near, and from the primary as soon as it is not', async () => {
  const reports = replicaReports(primary, replica, quiet)
  try {
    expect(await reports.read(inRecovery)).toBe(false) // before the first measurement
    await expect.poll(() => reports.state()?.isUsed).toBe(true)
    expect(reports.state()?.lagMs).toBeLessThan(10_000)
    expect(await reports.read(inRecovery)).toBe(true)
    // What takes too long there is not asked again here.
    await expect(reports.read((pool) => pool.query('select pg_sleep(20)'))).rejects.toThrow(
      'statement timeout',
    )
    expect(reports.state()?.isUsed).toBe(true)
    // What it cannot answer, the primary does.
    expect(
      await reports.read(async (pool) => {
        if (pool === replica) throw new Error('terminating connection due to conflict with recovery')
        return await inRecovery(pool)
      }),
    ).toBe(false)
    expect(reports.state()).toMatchObject({ isUsed: false, problem: 'refused a report, or is away' })
    // Nor one that is frozen or cut off: it does not even end a statement at its limit.
    await expect.poll(() => reports.state()?.isUsed).toBe(true)
    const silent = { text: 'set statement_timeout = 0; select pg_sleep(20)', query_timeout: 50 }
    expect(
      await reports.read(async (pool) => {
        if (pool === replica) await pool.query(silent)
        return await inRecovery(pool)
      }),
    ).toBe(false)
    expect(reports.state()).toMatchObject({ isUsed: false, problem: 'refused a report, or is away' })
  } finally {
    await reports.stop()
  }
})

test('what is not a standby is never read, whatever it says', async () => {
  const second = open(server.url)
  const reports = replicaReports(primary, second, quiet)
  try {
    const problem = 'is not a standby: how old its data is cannot be known'
    await expect.poll(() => reports.state()?.problem).toBe(problem)
    expect(await waitForReplica(primary, second)).toMatchObject({ kind: 'unusable', problem })
  } finally {
    await reports.stop()
    await second.end()
  }
})

test('a replica that no longer follows its primary is seen to fall behind', async () => {
  await replica.query('select pg_wal_replay_pause()')
  try {
    await primary.query(`insert into tallygate.catalogs (source, data) values ('late', '')`)
    const env = { DATABASE_URL: server.url, DATABASE_READ_URL: standby.urlOf(server.url) }
    const { code, err } = await run(env, 'usage', '--json')
    expect([code, err]).toEqual([
      0,
      'tallygate: reading the primary: the replica of DATABASE_READ_URL is too far behind\n',
    ])
  } finally {
    await replica.query('select pg_wal_replay_resume()')
  }
})

test('the command line reads reports from the replica, and doctor says how old they are', async () => {
  const env = { DATABASE_URL: server.url, DATABASE_READ_URL: standby.urlOf(server.url) }
  expect(await json(env, 'usage')).toMatchObject({ requests: 0 })
  const { out } = await run(env, 'doctor', '--json')
  const { checks } = JSON.parse(out) as { checks: { name: string; state: string; detail: string }[] }
  expect(checks.find(({ name }) => name === 'replica')).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^reports come from it, \d+ ms old at most$/),
  })
  const away = await run({ ...env, DATABASE_READ_URL: 'postgres://x@127.0.0.1:1/none' }, 'usage', '--json')
  expect(away.code).toBe(0)
  expect(away.err).toContain('reading the primary: the replica of DATABASE_READ_URL does not answer')
})
