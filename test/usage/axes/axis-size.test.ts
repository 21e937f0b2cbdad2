import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { addAxisUsage } from '../../../src/usage/axes/add-axis-usage.ts'
import { totalByAxis } from '../../../src/usage/total-by-day.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../../rollup/ledger-database.ts'
import { aRecord } from '../../rollup/records.ts'

const VALUES = 10_000

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

test('a value takes at most 160 bytes a day, its index included', async () => {
  const clientId = 'cli_0123456789abcdefghij'
  const records = Array.from({ length: VALUES }, (_, index) =>
    aRecord({
      clientId,
      arrivedAtMs: Date.parse('2026-01-02'),
      axes: `user=${index}-0b2f6f0e-7f0a-4b7e-9a53`,
    }),
  )
  await inTransaction(ledger.pool, async (session) => {
    for (const totals of totalByAxis(records)) await addAxisUsage(session, totals)
  })
  const { rows } = await ledger.pool.query<{ rows: number; bytes: number }>(
    `select count(*)::int as rows, pg_total_relation_size('tallygate.axis_usage')::int as bytes
     from tallygate.axis_usage`,
  )
  expect(rows[0]?.rows).toBe(VALUES)
  const each = (rows[0]?.bytes ?? 0) / VALUES
  expect(each).toBeLessThanOrEqual(160)
})
