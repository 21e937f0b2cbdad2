import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { pruneAlerts } from '../../src/alerts/deliveries.ts'
import type { CallRecord } from '../../src/call/call-record.ts'
import { NO_USAGE } from '../../src/call/usage.ts'
import { booksDiffer } from '../../src/corrections/conditions.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { recordJournal } from '../../src/gateway/health/recorded-state.ts'
import { findOldBacklogs, findWaitingJournals } from '../../src/ledger/conditions/counting.ts'
import { findFullJournals } from '../../src/ledger/conditions/journals.ts'
import { findDeadLetters, findGaps } from '../../src/ledger/conditions/losses.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { createLog } from '../../src/lib/log.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { findWrongClocks } from '../../src/store/conditions/clocks.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { recordGatewayJournal } from '../../src/store/ledger/gateway-journals.ts'
import { announceProcess } from '../../src/store/processes/processes-table.ts'
import { findCostlyCalls } from '../../src/usage/conditions/odd-calls.ts'
import { findUnpricedCalls, findUnreadCalls } from '../../src/usage/conditions/unpriced.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../rollup/records.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'

let database: TestDatabase
let pool: Postgres
const today = utcDayOf(Date.now())

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url)
})
afterEach(() => emptyTables(pool, ['gateway_journals']))
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const MIB = 1_048_576
const journal = (changes = {}) => ({
  uncommittedRecords: 3,
  uncommittedBytes: 0,
  maxBytes: 10 * MIB,
  oldestUncommittedMs: 1_000,
  ...changes,
})

test('a gap and a dead letter are found on the day that they are found, while they last', async () => {
  await pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason, recorded_at, filled_at) values
       ('p1', 4, 6, 'producer_lost', now(), null), ('p1', 9, 9, 'producer_lost', now(), null),
       ('p2', 1, 1, 'producer_lost', now(), now()),
       ('p3', 1, 1, 'producer_lost', now() - interval '3 days', null)`,
  )
  await pool.query(
    `insert into tallygate.dead_letters (producer, sequence, stream, body, message, resolved_at) values
       ('p1', 1, 'calls', '', '', null), ('p1', 2, 'calls', '', '', null), ('p1', 3, 'calls:1', '', '', now())`,
  )
  expect(await findGaps(pool, today)).toMatchObject([
    { subject: 'p1', period: today, payload: { records: 4, reason: 'producer_lost' } },
  ])
  expect(await findDeadLetters(pool, today)).toMatchObject([
    { subject: 'calls', period: today, payload: { records: 2 } },
  ])
})

test('a backlog is old after ten seconds, on a stream as in a journal', async () => {
  const backlogs = new Map([
    ['calls', { entries: 5, oldestMs: 9_999 }],
    ['calls:1', { entries: 7, oldestMs: 11_000 }],
  ])
  expect(findOldBacklogs(backlogs, today)).toMatchObject([
    { subject: 'calls:1', payload: { records: 7, oldest_seconds: 11 } },
  ])
  await recordGatewayJournal(pool, 'g1', journal({ oldestUncommittedMs: 9_999 }))
  await recordGatewayJournal(pool, 'g2', journal({ oldestUncommittedMs: 10_000 }))
  expect(await findWaitingJournals(pool, today)).toMatchObject([
    { subject: 'g2', payload: { records: 3, oldest_seconds: 10 } },
  ])
})

test('a journal is reported when it is half full, by gateways that run', async () => {
  await recordGatewayJournal(pool, 'g1', journal({ uncommittedBytes: 5 * MIB - 1 }))
  await recordGatewayJournal(pool, 'g2', journal({ uncommittedBytes: 5 * MIB }))
  await recordGatewayJournal(pool, 'g3', journal({ uncommittedBytes: 9 * MIB }))
  await pool.query(
    `update tallygate.gateway_journals set at = now() - interval '2 minutes' where gateway = 'g3'`,
  )
  expect(await findFullJournals(pool, today)).toMatchObject([
    { subject: 'g2', payload: { uncommitted_bytes: 5 * MIB, max_bytes: 10 * MIB } },
  ])
  await pool.query(`update tallygate.gateway_journals set at = now() - interval '2 days'`)
  await pruneAlerts(pool)
  const { rowCount } = await pool.query('select from tallygate.gateway_journals')
  expect(rowCount).toBe(0)
})

test('a clock that is more than a second off is reported, of gateways and workers that run', async () => {
  const running = (process: string, kind: 'gateway' | 'worker', clockOffsetMs: number | null) =>
    announceProcess(pool, { process, kind, maxConnections: 8, clockOffsetMs })
  await running('a:1', 'gateway', 900)
  await running('a:2', 'gateway', null)
  await running('b:1', 'gateway', -400 * 86_400_000)
  await running('c:1', 'worker', 90_000)
  expect(await findWrongClocks(pool, today)).toMatchObject([
    { subject: 'gateway b:1', payload: { offset_seconds: -34_560_000 } },
    { subject: 'worker c:1', payload: { process: 'c:1', offset_seconds: 90 } },
  ])
  await pool.query(`update tallygate.processes set at = now() - interval '2 days'`)
  expect(await findWrongClocks(pool, today)).toEqual([])
  await pruneAlerts(pool)
  expect((await pool.query('select from tallygate.processes')).rowCount).toBe(0)
})

test('a gateway says how full its journal is, and says it again', async () => {
  const stats = () =>
    ({ uncommittedRecords: 1, uncommittedBytes: 6 * MIB, oldestUncommittedMs: 12.5 }) as ReturnType<
      Ledger['stats']
    >
  const recording = recordJournal(pool, 'g', { stats }, 10 * MIB, createLog('fatal', 'test'))
  await expect.poll(() => findFullJournals(pool, today)).toMatchObject([{ subject: 'g' }])
  await recording.stop()
})

async function count(...records: CallRecord[]): Promise<void> {
  const producer = newProducer()
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  await rollUp(
    'test',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

const without = (unpricedReason: string, changes: Partial<CallRecord> = {}): CallRecord =>
  aRecord({ costPico: null, priceId: null, unpricedReason, ...changes })
const silent = { usageSource: 'none', usage: NO_USAGE } as const

test('calls without a price and calls that could not be read are two kinds, calls billed later none', async () => {
  await count(
    without('no_price', { model: 'gpt-x' }),
    without('no_price', { model: 'gpt-x' }),
    without('no_reader', { ...silent, path: '/v1/odd' }),
    without('billed_later', { ...silent, path: '/v1/batches' }),
    aRecord(),
  )
  expect(await findUnpricedCalls(pool, today)).toMatchObject([
    {
      subject: 'gpt-x at openai',
      period: today,
      payload: { calls: 2, reason: 'no_price' },
    },
  ])
  expect(await findUnreadCalls(pool, today)).toMatchObject([
    { subject: 'POST /v1/odd at openai', payload: { calls: 1, reason: 'no_reader' } },
  ])
})

test('a call that cost more than CALL_ALERT_USD is found with its client', async () => {
  const costly = aRecord({ suspect: true, costPico: '1500000000001', clientId: 'cli_a' })
  await count(aRecord(), costly)
  expect(await findCostlyCalls(pool, today)).toMatchObject([
    {
      subject: costly.callId,
      clientId: 'cli_a',
      payload: { call: costly.callId, cost_usd: '1.500000000001' },
    },
  ])
})

test('totals that differ are one alert a day', () => {
  expect(booksDiffer(3, '2026-01-01', today)).toMatchObject({
    subject: 'totals',
    period: today,
    payload: { differences: 3, since: '2026-01-01' },
  })
})
