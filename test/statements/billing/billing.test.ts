import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { removeCustomer, selectBillingStates } from '../../../src/statements/billing/billing-state.ts'
import { BILLING } from '../../../src/statements/billing/conditions.ts'
import { retryRefused, selectEvents, settleDoubtful } from '../../../src/statements/billing/event-table.ts'
import { summarise } from '../../../src/usage/summaries/summarise.ts'
import { NO_LIMIT_MS } from '../../rollup/ledger-database.ts'
import { BillingDeployment, KINDS } from './deployment.ts'

let it: BillingDeployment

beforeAll(async () => {
  it = await BillingDeployment.open()
})
afterEach(() => it.clear())
afterAll(() => it.close())

const findings = async () => (await BILLING.find?.({ pool: it.pool, nowMs: Date.now() })) ?? []
const eventsIn = async (state: Parameters<typeof selectEvents>[1]['state']) =>
  await selectEvents(it.pool, { receiver: null, state, limit: 1_000 })

test.each(KINDS)('%s gets the sums of a day, and changes of it, under ids of their own', async (kind) => {
  const receiver = it.receiver(kind)
  await it.map(kind)
  await it.count([1_000_000n, 2_500_000n, 7_000_000n, 1_000n])
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  await it.count([40_000n])
  await it.credit('cli_b', -2_000_000n)
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  expect(it.standIn.seen.again).toBe(0)
  expect(new Set(it.standIn.taken.map(({ id }) => id)).size).toBe(it.standIn.taken.length)
})

test('a client that is not mapped is not sent, and one that is mapped later is sent from its first day on', async () => {
  const receiver = it.receiver('webhook')
  await it.count([1_000n, 1_000n, 1_000n])
  await it.map('webhook', ['cli_a'])
  it.start([receiver])
  await expect.poll(() => it.standIn.sums().size).toBe(2)
  await it.map('webhook')
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
})

test('a day that is closed is not read until it is written again', async () => {
  const receiver = it.receiver('webhook')
  await it.map('webhook')
  await it.count([1_000n], { daysAgo: 5 })
  await summarise(it.pool, NO_LIMIT_MS)
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  const { rows } = await it.pool.query('select count(*)::int as days from tallygate.billing_days')
  expect(rows).toEqual([{ days: 1 }])
  await it.credit('cli_a', 5_000n, 5)
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  const day = it.standIn.taken.map(({ atMs }) => new Date(atMs).toISOString().slice(0, 10))
  expect(new Set(day).size).toBe(1)
})

test('sums by model are apart, and what is in none has a sum of its own', async () => {
  const receiver = it.receiver('openmeter', { byModel: true })
  await it.map('openmeter')
  await it.count([1_000n], { model: 'gpt-4o', clientId: 'cli_a' })
  await it.count([2_000n], { model: 'claude-5', clientId: 'cli_a' })
  await it.credit('cli_a', -500n)
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  expect(new Set(it.standIn.taken.map(({ model }) => model))).toEqual(
    new Set(['gpt-4o', 'claude-5', '(adjustment)']),
  )
})

test('a correction of a day that Stripe finds too old is sent as of now', async () => {
  await it.map('stripe')
  await it.count([9_000_000n], { daysAgo: 40, clientId: 'cli_a' })
  const receiver = it.receiver('stripe')
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  expect(it.standIn.taken.every(({ atMs }) => atMs > Date.now() - 86_400_000)).toBe(true)
})

test.each(
  KINDS,
)('an event that %s refuses is set apart by itself and named, and sent again when asked', async (kind) => {
  const receiver = it.receiver(kind)
  it.standIn.unknown.add('cus_cli_b')
  await it.map(kind)
  await it.count([1_000n, 2_000n, 3_000n])
  it.start([receiver])
  if (kind === 'openmeter' || kind === 'webhook') return // they know customers later, or not at all
  await expect.poll(() => eventsIn('refused')).toHaveLength(2)
  await expect.poll(() => it.waiting()).toBe(0)
  expect(it.standIn.sums().size).toBe(4)
  expect(await findings()).toEqual([
    expect.objectContaining({
      state: 'wrong',
      detail: expect.stringMatching(/refused 2 events, the last as it answered 4/),
    }),
  ])
  it.standIn.unknown.clear()
  expect(await retryRefused(it.pool, kind)).toBe(2)
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
})

test('what may have arrived so long ago that its id is known no longer is not sent again until an operator says', async () => {
  const receiver = it.receiver('stripe')
  await it.map('stripe')
  await it.count([1_000n], { clientId: 'cli_a' })
  it.standIn.fail(() => 'after')
  const worker = it.start([receiver])
  await expect.poll(async () => (await selectBillingStates(it.pool))[0]?.problem).toContain('it answered 500')
  await worker.close()
  expect(it.standIn.taken).toHaveLength(1)
  await it.pool.query(
    `update tallygate.billing_events set tried_at = now() - interval '25 hours' where tried_at is not null`,
  )
  it.standIn.fail(() => 'none')
  it.standIn.dropIds()
  it.start([receiver])
  // The one that was not under way is sent.
  await expect.poll(() => it.standIn.taken.length).toBe(2)
  await expect.poll(() => eventsIn('doubtful')).toHaveLength(1)
  const [doubtful] = await eventsIn('doubtful')
  expect(await settleDoubtful(it.pool, doubtful?.number ?? '', true)).toBe(true)
  expect(await settleDoubtful(it.pool, doubtful?.number ?? '', true)).toBe(false)
  await it.count([5_000n], { clientId: 'cli_a' })
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
})

test('a receiver that is away is not thought to have what was never sent', async () => {
  const receiver = it.receiver('stripe', { url: 'http://127.0.0.1:9' })
  await it.map('stripe')
  await it.count([1_000n], { clientId: 'cli_a' })
  const worker = it.start([receiver])
  await expect.poll(async () => (await selectBillingStates(it.pool))[0]?.problem).toContain('ECONNREFUSED')
  await worker.close()
  const { rows } = await it.pool.query('select tried_at from tallygate.billing_events')
  expect(rows).toEqual([{ tried_at: null }, { tried_at: null }])
  expect(await findings()).toEqual([
    expect.objectContaining({ state: 'wrong', detail: expect.stringContaining('ECONNREFUSED') }),
  ])
})

test('totals replace what waits, so a receiver that was away gets the last of each', async () => {
  const receiver = it.receiver('webhook', { sends: 'totals' })
  await it.map('webhook')
  it.standIn.fail(() => 'away')
  it.start([receiver])
  await it.count([1_000n], { clientId: 'cli_a' })
  await expect.poll(async () => (await eventsIn(null)).length).toBe(2)
  await it.count([500n], { clientId: 'cli_a' })
  await expect.poll(async () => (await eventsIn(null)).length).toBe(4)
  it.standIn.fail(() => 'none')
  await expect.poll(() => it.waiting()).toBe(0)
  expect(it.standIn.sums()).toEqual(await it.sums([receiver]))
})

test('what waits for a client that is mapped no more is dropped, and sent when it is mapped again', async () => {
  const receiver = it.receiver('webhook')
  await it.map('webhook', ['cli_a'])
  await it.count([1_000n], { clientId: 'cli_a' })
  it.standIn.fail(() => 'refuses')
  const worker = it.start([receiver])
  await expect.poll(() => it.waiting()).toBe(2)
  await expect.poll(async () => (await selectBillingStates(it.pool))[0]?.problem).toContain('it answered 429')
  await worker.close()
  expect(await removeCustomer(it.pool, 'webhook', 'cli_a')).toBe(2)
  expect(await removeCustomer(it.pool, 'webhook', 'cli_a')).toBe(null)
  it.standIn.fail(() => 'none')
  await it.map('webhook', ['cli_a'])
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
})
