import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import {
  announceProcess,
  keepAnnounced,
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
    report: async () => null,
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
