import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallRecord, Outcome } from '../../src/call/call-record.ts'
import { UNPRICED_REASONS } from '../../src/call/unpriced-reason.ts'
import { BILLED_UNITS, NO_UNITS, NO_USAGE, TOKEN_CLASSES, type UsageSource } from '../../src/call/usage.ts'
import { verifyLedger } from '../../src/corrections/verify.ts'
import { METRICS } from '../../src/usage/metrics-table.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

const count = fc.option(fc.nat(1_000))
const counts = <Name extends string>(names: readonly Name[]) =>
  fc.tuple(...names.map(() => count)).map((all) => Object.fromEntries(names.map((name, i) => [name, all[i]])))

/** Records that differ in whatever a metric looks at. */
const record: fc.Arbitrary<CallRecord> = fc
  .record({
    outcome: fc.constantFrom<Outcome>('complete', 'client_aborted', 'upstream_error', 'interrupted'),
    usageSource: fc.constantFrom<UsageSource>('reported', 'partial', 'estimated', 'none', 'invalid'),
    status: fc.constantFrom(null, 101, 200, 399, 400, 503),
    failedInBody: fc.boolean(),
    webSocket: fc.boolean(),
    latencyUs: fc.option(fc.constantFrom(0, 1, 999, 1_000, 1_001, 5_000_000, 10_000_000_000)),
    costPico: fc.option(fc.constantFrom('0', '1', '12345678901234567890')),
    unpricedReason: fc.constantFrom(...UNPRICED_REASONS),
    model: fc.constantFrom('a', 'b'),
    bytes: fc.constantFrom(
      {},
      { requestBytes: 0, answerBytes: 0 },
      { requestBytes: 120, answerBytes: 5_000_000_000 },
    ),
    usage: fc.oneof(fc.constant(NO_USAGE), counts(TOKEN_CLASSES)),
    units: fc.oneof(fc.constant(NO_UNITS), counts(BILLED_UNITS)),
  })
  .map(({ bytes, ...changes }) =>
    aRecord({
      ...(changes as Partial<CallRecord>),
      ...bytes,
      priceId: null,
      unpricedReason: changes.costPico === null ? changes.unpricedReason : undefined,
    }),
  )

test('what calls add to each metric is what counting their rows again gives', async () => {
  const records = fc.sample(record, { seed: 20_261_126, numRuns: 400 })
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((one, index) => aCandidate(producer, index + 1, one)),
  )
  const { calls, differences } = await verifyLedger(ledger.pool, '2000-01-01')
  expect(differences).toEqual([])
  expect(calls).toBe(400n)
  // None was compared as 0 with 0: no settlement is among these.
  const { rows } = await ledger.pool.query('select * from tallygate.daily_usage')
  for (const { column } of METRICS) {
    if (column === 'settlements') continue
    expect(
      rows.some((row) => Number(row[column] ?? 0) !== 0),
      column,
    ).toBe(true)
  }
})
