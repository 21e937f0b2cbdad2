import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CallRecord } from '../../../src/call/call-record.ts'
import { type GroupedScope, selectUsageSummary } from '../../../src/usage/query/select-usage.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../../rollup/records.ts'
import { emptyTables } from '../../support/servers/empty-tables.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  await ledger.pool.query(`insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 0)`)
  await ledger.pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     values ('key_a', 'cli_a', 'laptop', 'tg_', decode(repeat('00', 32), 'hex'), 'p', 0)`,
  )
})
afterAll(() => ledger.drop())
beforeEach(() => emptyTables(ledger.pool, ['daily_usage']))

async function add(...records: CallRecord[]): Promise<void> {
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

const on = (day: string, changes: Partial<CallRecord> = {}) =>
  aRecord({ arrivedAtMs: Date.parse(`${day}T12:00:00Z`), ...changes })

const query = (changes: Partial<GroupedScope> = {}): GroupedScope => ({
  clientId: 'cli_a',
  fromDay: '2026-03-01',
  toDay: '2026-03-31',
  groupBy: [],
  ...changes,
})

test('no usage is one row of zeros, and no rows when grouped', async () => {
  const [row, ...others] = await selectUsageSummary(ledger.pool, query())
  expect(others).toEqual([])
  expect(row).toMatchObject({ requests: 0n, inputTokens: 0n, latencyUsSum: 0n, costPico: 0n, day: null })
  expect(await selectUsageSummary(ledger.pool, query({ groupBy: ['day'] }))).toEqual([])
})

test('the summary holds the days asked for, both ends included, of the client asked for', async () => {
  await add(on('2026-02-28'), on('2026-03-01'), on('2026-03-31'), on('2026-04-01'))
  await add(on('2026-03-15', { clientId: 'cli_b' }))
  expect(await selectUsageSummary(ledger.pool, query())).toMatchObject([
    { requests: 2n, inputTokens: 200n, outputTokens: 40n, latencyUsSum: 3_000n, latencyCount: 2n },
  ])
  expect(await selectUsageSummary(ledger.pool, query({ clientId: null }))).toMatchObject([{ requests: 3n }])
})

test('groups add up to the whole, name keys and clients, and come in order', async () => {
  await add(
    on('2026-03-02', { model: 'b' }),
    on('2026-03-01', { model: 'b' }),
    on('2026-03-01', { model: 'a', keyId: 'key_gone' }),
  )
  const days = await selectUsageSummary(ledger.pool, query({ groupBy: ['day'] }))
  expect(days.map(({ day, requests }) => [day, requests])).toEqual([
    ['2026-03-01', 2n],
    ['2026-03-02', 1n],
  ])
  const keys = await selectUsageSummary(ledger.pool, query({ groupBy: ['key', 'model'] }))
  expect(keys.map(({ keyId, keyName, model }) => [keyId, keyName, model])).toEqual([
    ['key_a', 'laptop', 'b'],
    ['key_gone', null, 'a'],
  ])
  const clients = await selectUsageSummary(ledger.pool, query({ clientId: null, groupBy: ['client'] }))
  expect(clients).toMatchObject([{ clientId: 'cli_a', clientName: 'acme', requests: 3n }])
})

test('sums are exact beyond what a floating point number holds, and corrections are part of the cost', async () => {
  const costPico = '12345678901234567890123456789'
  await add(...[1, 2, 3].map(() => on('2026-03-01', { costPico, latencyUs: Number.MAX_SAFE_INTEGER })))
  await ledger.pool.query('update tallygate.daily_usage set adjusted_pico = -1')
  expect(await selectUsageSummary(ledger.pool, query())).toMatchObject([
    { costPico: 3n * BigInt(costPico) - 1n, latencyUsSum: 3n * BigInt(Number.MAX_SAFE_INTEGER) },
  ])
})
