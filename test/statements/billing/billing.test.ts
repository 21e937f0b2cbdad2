import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { addDays } from '../../../src/domain/utc-day.ts'
import {
  dropReceiver,
  holdReceiver,
  lockReceiver,
  removeCustomer,
  selectBillingStates,
} from '../../../src/statements/billing/billing-state.ts'
import { BILLING } from '../../../src/statements/billing/conditions.ts'
import {
  claimEvents,
  keepSent,
  retryRefused,
  selectEvents,
  settleDoubtful,
} from '../../../src/statements/billing/event-table.ts'
import { makeEvents } from '../../../src/statements/billing/make-events.ts'
import { inTransaction } from '../../../src/store/connection/postgres.ts'
import { reopenDays } from '../../../src/usage/days/usage-days.ts'
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

test.each([
  ['that is away', 'http:', 'ECONNREFUSED'],
  ['whose certificate is not trusted', 'https:', 'certificate'],
])('a receiver %s is not thought to have what was never sent', async (_, protocol, problem) => {
  const tls = createServer({
    cert: readFileSync('test/fixtures/tls/cert.pem'),
    key: readFileSync('test/fixtures/tls/key.pem'),
  })
  await once(tls.listen(0, '127.0.0.1'), 'listening')
  const port = protocol === 'https:' ? (tls.address() as AddressInfo).port : 9
  const receiver = it.receiver('stripe', { url: `${protocol}//127.0.0.1:${port}` })
  await it.map('stripe')
  await it.count([1_000n], { clientId: 'cli_a' })
  const worker = it.start([receiver])
  await expect.poll(async () => (await selectBillingStates(it.pool))[0]?.problem).toContain(problem)
  await worker.close()
  tls.close()
  const { rows } = await it.pool.query('select tried_at from tallygate.billing_events')
  expect(rows).toEqual([{ tried_at: null }, { tried_at: null }])
  expect(await findings()).toEqual([
    expect.objectContaining({ state: 'wrong', detail: expect.stringContaining(problem) }),
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
  expect(it.standIn.taken.map(({ sequence }) => sequence)).toEqual([2, 2])
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

test('a client that is mapped again, from a later day on, keeps what was sent of the days before', async () => {
  const receiver = it.receiver('webhook')
  await it.map('webhook', ['cli_a', 'cli_b'])
  await it.count([1_000n, 2_000n], { daysAgo: 5 })
  const worker = it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  await worker.close()
  await removeCustomer(it.pool, 'webhook', 'cli_a')
  await it.map('webhook', ['cli_a'], 0)
  await it.count([300n], { clientId: 'cli_a' })
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
})

test('a client that is mapped while the events of a day are made has its own of that day, too', async () => {
  await holdReceiver(it.pool, it.receiver('webhook'), 'a worker', 60_000)
  const mapped = await inTransaction(it.pool, async (session) => {
    await lockReceiver(session, 'webhook')
    const mapping = it.map('webhook', ['cli_a'])
    const waits = expect.poll(async () => {
      const { rows } = await it.pool.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows.length
    })
    expect(await Promise.race([mapping.then(() => 'mapped'), waits.toBe(1).then(() => 'waits')])).toBe(
      'waits',
    )
    await session.query(
      `insert into tallygate.billing_days (receiver, day, attempt) values ('webhook', $1, gen_random_uuid())`,
      [it.today],
    )
    return { mapping }
  })
  await mapped.mapping
  expect((await it.pool.query('select from tallygate.billing_days')).rows).toEqual([])
})

test('what may have arrived before it was refused is not sent again once its id is known no longer', async () => {
  const receiver = it.receiver('stripe')
  await it.map('stripe')
  await it.count([1_000n], { clientId: 'cli_a' })
  it.standIn.fail(() => 'after')
  const worker = it.start([receiver])
  await expect.poll(async () => (await selectBillingStates(it.pool))[0]?.problem).toContain('it answered 500')
  it.standIn.unknown.add('cus_cli_a')
  it.standIn.fail(() => 'none')
  await expect.poll(() => eventsIn('refused')).toHaveLength(2)
  await worker.close()
  await it.pool.query(
    `update tallygate.billing_events set tried_at = now() - interval '25 hours' where tried_at is not null`,
  )
  it.standIn.dropIds()
  it.standIn.unknown.clear()
  expect(await retryRefused(it.pool, 'stripe')).toBe(2)
  it.start([receiver])
  await expect.poll(() => eventsIn('sent')).toHaveLength(1)
  expect(await eventsIn('doubtful')).toHaveLength(1)
  expect(it.standIn.taken).toHaveLength(2)
})

test('a system that was ended and comes back under its name gets what changed since', async () => {
  const receiver = it.receiver('lago')
  await it.map('lago')
  await it.count([1_000n, 2_000n, 3_000n])
  const worker = it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  await it.count([500n])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  expect(await dropReceiver(it.pool, 'lago')).toBe('held')
  await worker.close()
  expect(await dropReceiver(it.pool, 'lago')).toBe(0)
  expect(await selectBillingStates(it.pool)).toEqual([])
  await it.map('lago')
  await it.count([70n])
  await it.credit('cli_a', -1_200n)
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
})

test('what waited until Stripe finds its time too old is sent as of now', async () => {
  const receiver = it.receiver('stripe')
  await it.map('stripe')
  await it.count([1_000n], { clientId: 'cli_a' })
  await holdReceiver(it.pool, receiver, 'a worker', 0)
  await makeEvents(it.pool, receiver)
  await it.pool.query(`update tallygate.billing_events set happened_at = now() - interval '36 days'`)
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
})

test('a new meter gets days that are closed, and a day of which nothing is left is taken back', async () => {
  const receiver = it.receiver('webhook')
  await it.map('webhook')
  await it.count([1_000n], { daysAgo: 5, clientId: 'cli_a' })
  await summarise(it.pool, NO_LIMIT_MS)
  const worker = it.start([{ ...receiver, meters: receiver.meters.slice(0, 1) }])
  await expect.poll(() => it.standIn.sums().size).toBe(1)
  await worker.close()
  it.start([receiver])
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums([receiver]))
  await it.pool.query('delete from tallygate.daily_usage')
  await inTransaction(it.pool, (session) => reopenDays(session, [addDays(it.today, -5)]))
  await expect.poll(() => [...it.standIn.sums().values()]).toEqual([0n, 0n])
})

test('a worker that stood still takes nothing back of what another one has tried since', async () => {
  const receiver = it.receiver('webhook')
  await it.map('webhook', ['cli_a'])
  await it.count([1_000n], { clientId: 'cli_a' })
  await holdReceiver(it.pool, receiver, 'one', 0)
  await makeEvents(it.pool, receiver)
  const stood = await claimEvents(it.pool, 'webhook', 10)
  await claimEvents(it.pool, 'webhook', 10)
  await keepSent(it.pool, 'webhook', { sent: [], refused: [], untouched: [...stood] })
  const claimed = await claimEvents(it.pool, 'webhook', 10)
  expect(claimed.map(({ mayBeThere }) => mayBeThere)).toEqual([true, true])
})

test('a secret that a system repeats is not shown', async () => {
  await it.map('webhook')
  await it.count([1_000n])
  it.standIn.fail(() => 'refuses')
  it.start([it.receiver('webhook', { secret: 'slow down' })])
  await expect
    .poll(async () => (await selectBillingStates(it.pool))[0]?.problem)
    .toBe('it answered 429: {"error":"(secret)"}')
})
