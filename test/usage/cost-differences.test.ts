import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CallRecord } from '../../src/call/call-record.ts'
import { buildLinearPrice, buildUnpricedTier } from '../../src/pricing/price.ts'
import { createCallDays } from '../../src/rollup/call-days.ts'
import { createRollUp } from '../../src/rollup/roll-up.ts'
import { inTransaction } from '../../src/store/connection/postgres.ts'
import { addCallDay } from '../../src/usage/calls/call-partitions.ts'
import { selectCostDifferences } from '../../src/usage/operations/price-checks.ts'
import { selectUsageSummary } from '../../src/usage/query/select-usage.ts'
import { selectUnpricedUse } from '../../src/usage/unpriced-use.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer, quiet } from '../rollup/records.ts'

const DAY = '2026-03-03'
let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  await inTransaction(ledger.pool, (session) => addCallDay(session, DAY))
})
afterAll(() => ledger.drop())

async function add(...changes: Partial<CallRecord>[]): Promise<void> {
  const producer = newProducer()
  const rollUp = createRollUp({ pool: ledger.pool, callDays: createCallDays(ledger.pool, 3650, quiet) })
  const arrivedAtMs = Date.parse(`${DAY}T12:00:00Z`)
  await rollUp(
    'test',
    changes.map((change, index) => aCandidate(producer, index + 1, aRecord({ arrivedAtMs, ...change }))),
  )
}

test('calls whose provider says another cost than our prices are listed by model, with both sums', async () => {
  const beside = { model: 'gpt-4o', reportedCostPico: '300', ownCostPico: '200', costDiffers: true } as const
  await add(beside, beside, { model: 'gpt-4o', reportedCostPico: '100', ownCostPico: '100' })
  expect(await selectCostDifferences(ledger.pool, DAY)).toMatchObject([
    { model: 'gpt-4o', calls: 2n, reportedPico: 600n, ownPico: 400n },
  ])
  expect(await selectCostDifferences(ledger.pool, '2026-03-04')).toEqual([])
})

test('calls at a tier without a price have rows of their own, by the name of the tier', async () => {
  const tier = buildUnpricedTier('ultrafast')
  const unpriced = { model: 'gpt-6-sol', costPico: null, unpricedReason: 'unknown_tier' }
  await add(
    { ...unpriced, priceId: tier.id, price: tier.json, serviceTier: 'ultrafast' },
    { ...unpriced, priceId: null, unpricedReason: 'no_price' },
  )
  const { rows } = await ledger.pool.query(
    "select price_id, unpriced::int from tallygate.daily_usage where model = 'gpt-6-sol' order by price_id",
  )
  expect(rows).toEqual([
    { price_id: '', unpriced: 1 },
    { price_id: tier.id, unpriced: 1 },
  ])
  const found = (await selectUnpricedUse(ledger.pool, DAY)).filter(({ model }) => model === 'gpt-6-sol')
  expect(found).toMatchObject([
    { reason: 'no_price', serviceTier: null, calls: 1n },
    { reason: 'unknown_tier', serviceTier: 'ultrafast', calls: 1n },
  ])
})

test('calls whose cost leaves something out are counted beside it', async () => {
  const price = buildLinearPrice({
    basis: 'linear',
    source: 'yaml',
    provider: '*',
    model: 'm',
    from: null,
    context: null,
    hours: null,
    serviceTier: null,
    serviceTierPriced: true,
    factor: '1',
    variant: null,
    rates: { input: 1n },
    unpriced: ['webSearch'],
  })
  const partly = { model: 'm', priceId: price.id, costPico: '100', partlyUnpriced: true } as const
  await add({ ...partly, price: price.json }, partly, { model: 'm', costPico: '100' })
  const [row] = (
    await selectUsageSummary(ledger.pool, { clientId: null, fromDay: DAY, toDay: DAY, groupBy: ['model'] })
  ).filter(({ model }) => model === 'm')
  expect(row).toMatchObject({ requests: 3n, partlyUnpriced: 2n, unpriced: 0n, costPico: 300n })
  const { rows } = await ledger.pool.query(
    'select count(*)::int as n from tallygate.calls where partly_unpriced',
  )
  expect(rows).toEqual([{ n: 2 }])
})
