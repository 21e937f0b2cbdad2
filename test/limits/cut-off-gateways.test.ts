import { afterAll, beforeAll, expect, test } from 'vitest'
import { hadGateways, saySelfCutOff, selectCutOff } from '../../src/limits/open-limits.ts'
import { recordGatewayJournal } from '../../src/store/ledger/gateway-journals.ts'
import { type LimitDatabase, openLimitDatabase } from './limit-database.ts'

let database: LimitDatabase

beforeAll(async () => {
  database = await openLimitDatabase()
})
afterAll(() => database?.drop())

test('a gateway that said nothing while Postgres was away may run still, for an hour', async () => {
  const { pool } = database
  expect(await hadGateways(pool)).toBe(false)
  const journal = { uncommittedRecords: 0, uncommittedBytes: 0, maxBytes: 1, oldestUncommittedMs: 0 }
  await recordGatewayJournal(pool, 'other', journal)
  const said = async (ago: string) =>
    await pool.query('update tallygate.gateway_journals set at = now() - $1::interval', [ago])
  await said('50 minutes')
  expect(await hadGateways(pool)).toBe(true)
  await said('2 hours')
  expect(await hadGateways(pool)).toBe(false)
})

test('a gateway that says that it is cut off is one of those that run', async () => {
  const { pool } = database
  await saySelfCutOff(pool, 'alone')
  expect([...(await selectCutOff(pool, ['alone', 'ended']))]).toEqual(['alone'])
})
