import { spawnSync } from 'node:child_process'
import { hostname } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { NOTHING_REPORTED } from '../../../src/store/processes/process-report.ts'
import {
  announceProcess,
  keepAnnounced,
  selectHeartbeats,
  selectProcesses,
} from '../../../src/store/processes/processes-table.ts'
import { StoreClock } from '../../../src/store/processes/store-clock.ts'
import { quiet } from '../../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  const limits = { max: 2, statementTimeoutMs: 5_000, applicationName: 'test', log: quiet }
  pool = openPostgres(database.url, limits)
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const REPORT = {
  ...NOTHING_REPORTED,
  shards: [],
  upstreams: [],
  host: hostname(),
  startedAtMs: 0,
  version: '1',
}

test('a process is there while it says so: one that was killed is gone after a minute, one that stops at once', async () => {
  const killed = { process: 'host-a:1', kind: 'gateway', maxConnections: 8, clockOffsetMs: -2_000 } as const
  await announceProcess(pool, { ...killed, clockOffsetMs: null })
  await announceProcess(pool, killed)
  const clock = new StoreClock({ log: quiet })
  clock.learn(Date.now(), clock.asks())
  const announced = keepAnnounced({
    pool,
    kind: 'worker',
    connections: { max: 10 },
    clock,
    report: async () => REPORT,
  })
  await expect
    .poll(() => selectProcesses(pool))
    .toEqual([
      killed,
      {
        process: expect.stringMatching(/:\d+$/),
        kind: 'worker',
        maxConnections: 10,
        clockOffsetMs: expect.any(Number),
      },
    ])
  await announced.stop()
  expect(await selectProcesses(pool)).toEqual([killed])
  await pool.query(`update tallygate.processes set at = now() - interval '1 minute'`)
  expect(await selectProcesses(pool)).toEqual([])
})

test('one that starts takes the place of one of its kind and address that ended on its host, and of no other', async () => {
  await pool.query('delete from tallygate.processes')
  const adminAddress = '127.0.0.1:8081'
  const gone = () => `${hostname()}:${spawnSync('true').pid}`
  const put = (name: string, of = adminAddress, kind: 'gateway' | 'worker' = 'gateway') =>
    announceProcess(pool, {
      process: name,
      kind,
      maxConnections: 8,
      clockOffsetMs: 0,
      report: { ...REPORT, adminAddress: of },
    })
  await put(`${hostname()}:${process.ppid}`) // it runs, or hangs
  await put(`elsewhere:${spawnSync('true').pid}`)
  await put(gone(), '127.0.0.1:9')
  await put(gone(), adminAddress, 'worker')
  const names = async () => (await selectHeartbeats(pool)).map((one) => `${one.kind} ${one.process}`).sort()
  const staying = await names()
  await put(gone())
  const announced = keepAnnounced({
    pool,
    kind: 'gateway',
    connections: { max: 8 },
    clock: new StoreClock({ log: quiet }),
    report: async () => ({ ...REPORT, adminAddress }),
  })
  await expect.poll(names).toEqual([...staying, `gateway ${hostname()}:${process.pid}`].sort())
  await announced.stop()
})

test('what is urgent is said at once', async () => {
  let journalWritable = true
  const announced = keepAnnounced({
    pool,
    kind: 'worker',
    connections: { max: 8 },
    clock: new StoreClock({ log: quiet }),
    report: async () => ({ ...REPORT, journalWritable }),
  })
  const said = async () => {
    const heartbeats = await selectHeartbeats(pool)
    return heartbeats.find((one) => one.process === `${hostname()}:${process.pid}`)?.report?.journalWritable
  }
  await expect.poll(said).toBe(true)
  journalWritable = false
  await expect.poll(said).toBe(false)
  await announced.stop()
})
