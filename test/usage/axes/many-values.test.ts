// @long: a million calls of a day, each in a session of its own
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verifyLedger } from '../../../src/corrections/verify.ts'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createCountingMemory } from '../../../src/rollup/count-records.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { readReport } from '../../../src/usage/report/read-report.ts'
import type { ReportQuery } from '../../../src/usage/report/report-query.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../../rollup/records.ts'
import { createTestDatabaseAt } from '../../support/servers/database.ts'
import { startPrivatePostgres, type TestServer } from '../../support/servers/servers.ts'

const CALLS = Number(process.env.AXES_CALLS ?? 1_000_000)
const CLIENTS = 10
const USERS = 10_000
const VALUES = CLIENTS * USERS
const BATCH = 5_000
const RETENTION_DAYS = 3
/** Of the last day, so that no day ends meanwhile. */
const DAY = utcDayOf(Date.now() - 86_400_000)
const ARRIVED_AT_MS = Date.parse(`${DAY}T12:00:00Z`)
const AN_HOUR_MS = 3_600_000

let server: TestServer
let ledger: LedgerDatabase

beforeAll(async () => {
  // A transaction that other tests have open keeps dead rows on this server's pages, in each of its databases.
  server = await startPrivatePostgres()
  ledger = await openLedgerDatabase(RETENTION_DAYS, await createTestDatabaseAt(server.url))
})
afterAll(async () => {
  await ledger?.drop()
  await server?.stop()
})

/** Each once, and then in another order: users do not call in turn. */
function userOf(call: number): number {
  return call < USERS ? call : (Math.imul(call, 2_654_435_761) >>> 8) % USERS
}

async function reportOf(groupBy: ReportQuery['groupBy'], filters: ReportQuery['filters'] = []) {
  const answer = await readReport(
    ledger.pool,
    {
      ...{ period: { fromDay: DAY, toDay: DAY }, before: null, groupBy, filters, interval: null, top: 1 },
      ...{ sort: 'cost', order: 'desc', search: null, limit: CALLS, after: null },
    },
    () => false,
  )
  if (answer.kind === 'same') throw new Error('nothing is held')
  return answer.report
}

async function bytesOf(sql: string): Promise<number> {
  const { rows } = await ledger.pool.query<{ bytes: string }>(`select ${sql} as bytes`)
  return Number(rows[0]?.bytes)
}

test(
  'each axis adds up to the whole with 100,000 values and 1,000,000 sessions in a day, and takes little room',
  async () => {
    const { pool } = ledger
    const callDays = createCallDays(pool, RETENTION_DAYS, quiet)
    const rollUp = createRollUp({ pool, callDays, memory: createCountingMemory(2 * USERS) })
    const producer = newProducer()
    for (let from = 0; from < CALLS; from += BATCH) {
      const batch = Array.from({ length: BATCH }, (_, index) => {
        const call = from + index
        return aCandidate(
          producer,
          call + 1,
          aRecord({
            clientId: `cli_${call % CLIENTS}`,
            arrivedAtMs: ARRIVED_AT_MS,
            costPico: `${1_000_000 + call}`,
            axes: `user=user-${userOf(Math.floor(call / CLIENTS))}\n-session=${randomUUID()}`,
          }),
        )
      })
      expect(await rollUp('test:calls', batch)).toMatchObject({ kind: 'done', counted: BATCH })
    }

    await pool.query('analyze')
    const whole = (await reportOf([])).totals.now
    expect(whole).toMatchObject({
      requests: BigInt(CALLS),
      costPico: BigInt(CALLS) * 1_000_000n + (BigInt(CALLS) * BigInt(CALLS - 1)) / 2n,
    })
    const { rows: users } = await reportOf(['axis:user', 'client'])
    expect(users.length).toBe(Math.min(CALLS, VALUES))
    for (const field of ['requests', 'costPico', 'inputTokens', 'outputTokens'] as const)
      expect(users.reduce((sum, { now }) => sum + now[field], 0n)).toBe(whole[field])
    // Without totals they are counted in single calls, of one client.
    const ofClient: ReportQuery['filters'] = [{ group: 'client', ids: ['cli_0'] }]
    const one = (await reportOf([], ofClient)).totals.now
    const { rows: sessions } = await reportOf(['axis:session'], ofClient)
    expect(sessions.length).toBe(CALLS / CLIENTS)
    expect(sessions.reduce((sum, { now }) => sum + now.costPico, 0n)).toBe(one.costPico)

    const { differences } = await verifyLedger(pool, DAY)
    expect(differences.filter(({ against }) => against !== 'price')).toEqual([])

    const each = (await bytesOf(`pg_total_relation_size('tallygate.axis_usage')`)) / users.length
    const ofCall = await bytesOf(
      `(select avg(coalesce(pg_column_size(axes), 0)) / 2 from tallygate.call_rows)`,
    )
    console.info(`${each.toFixed(0)} bytes a value and day, ${ofCall.toFixed(1)} a call and axis`)
    expect(each).toBeLessThanOrEqual(160)
    expect(ofCall).toBeLessThanOrEqual(25)
  },
  AN_HOUR_MS,
)
