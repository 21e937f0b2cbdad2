import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addReceiver } from '../../src/alerts/receivers.ts'
import type { CallRecord } from '../../src/call/call-record.ts'
import { eraseValue } from '../../src/corrections/erase-value.ts'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { findReachedThresholds, VALUE_BUDGETS } from '../../src/limits/conditions/budgets.ts'
import { type SpendAccount, selectSpent } from '../../src/limits/spent/select-spent.ts'
import { dropSpentValues } from '../../src/limits/spent/value-spending.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import { inTransaction } from '../../src/store/connection/postgres.ts'
import { addAccount } from '../alerts/budget-usage.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { emptyUsage } from '../usage/summaries/empty-usage.ts'
import { budget, scopeOf } from './limit-database.ts'

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase(0)
})
afterAll(() => ledger.drop())
beforeEach(async () => {
  await emptyUsage(ledger.pool)
  await emptyTables(ledger.pool, [
    'budget_charges',
    'route_spending',
    'value_spending',
    'value_route_spending',
    'limit_changes',
    'limits',
  ])
})

const DAY = '2026-02-03'
const call = (axes: string | undefined, changes: Partial<CallRecord> = {}) =>
  aRecord({ arrivedAtMs: Date.parse(`${DAY}T12:00:00Z`), costPico: '100', priceId: 'p', axes, ...changes })

async function add(...records: readonly CallRecord[]): Promise<void> {
  const producer = newProducer()
  await ledger.rollUp(
    'test:calls',
    records.map((record, index) => aCandidate(producer, index + 1, record)),
  )
}

async function spentOf(value: string, changes: Partial<SpendAccount> = {}) {
  const account = {
    clientId: 'cli_a',
    axis: 'user',
    value,
    keyId: null,
    model: null,
    fromDay: DAY,
    toDay: DAY,
  }
  const { spentPico, chargedPico } = await selectSpent(ledger.pool, [{ ...account, ...changes }], [])
  return [spentPico[0], chargedPico[0]]
}

/** A limit of every client's users. */
async function limitUsers(value: string | null = null): Promise<void> {
  const order = budget(150n, { per: 'day' })
  await setLimits(ledger.pool, scopeOf(null, { axis: 'user', value }), [order], 'test')
}

test('what is spent is added up by value where values have budgets, whatever has totals of its own', async () => {
  await add(call('user=ann'))
  expect(await spentOf('ann')).toEqual([0n, 0n])
  await limitUsers()
  await add(call('user=ann'), call('~user=ann', { costPico: '30' }), call('-user=ann', { costPico: '7' }))
  await add(call('user=bob'), call(undefined), call('feature=ann'), call('user=ann', { clientId: 'cli_b' }))
  expect(await spentOf('ann')).toEqual([137n, 0n])
  expect(await spentOf('ann', { model: 'other*' })).toEqual([0n, 0n])
  expect(await spentOf('(none)')).toEqual([0n, 0n])
})

test('calls without a value are added up where (none) has a budget', async () => {
  await limitUsers('(none)')
  await add(call(undefined), call('feature=x', { costPico: '20' }), call('user=ann'))
  expect(await spentOf('(none)')).toEqual([120n, 0n])
})

test('calls without a cost are charged to their value, and repricings and credits of rows are shared out', async () => {
  await limitUsers()
  const free = { costPico: null, priceId: null, unpricedReason: 'no_price', chargedPico: '40' }
  await add(
    call('user=ann'),
    call('user=bob', { costPico: '300' }),
    call('user=ann', free),
    call('user=bob', free),
  )
  expect(await spentOf('ann')).toEqual([140n, 40n])
  await ledger.pool.query(
    `update tallygate.daily_usage set adjusted_pico = adjusted_pico + 400 where price_id = 'p'`,
  )
  expect(await spentOf('ann')).toEqual([240n, 40n])
  expect(await spentOf('bob')).toEqual([640n, 40n])
})

test("a value's budget for the name of a route has what its calls by that cost, whichever model answers", async () => {
  const today = utcDayOf(Date.now())
  const own = { clientId: 'cli_routed', arrivedAtMs: Date.parse(`${today}T00:00:00Z`) }
  const routed = { ...own, route: 'smart' }
  const of = async (value: string, model: string) =>
    await spentOf(value, { clientId: own.clientId, model, fromDay: today, toDay: today })
  await setLimits(ledger.pool, scopeOf(null, { axis: 'user', model: 'smart' }), [budget(100n)], 'test')
  const free = { costPico: null, priceId: null, unpricedReason: 'no_price', chargedPico: '40' }
  await add(call('user=ann', routed), call('user=ann', { ...routed, ...free }))
  await add(call('user=ann', { ...routed, route: 'else' }), call('user=bob', routed), call(undefined, routed))
  await add(call('user=ann', own))
  expect(await of('ann', 'smart')).toEqual([140n, 40n])
  expect(await of('ann', 'gpt-4o')).toEqual([340n, 40n])
  expect(await of('bob', 'smart*')).toEqual([100n, 0n])
  await addAccount(ledger.pool, own.clientId)
  const wanted = { url: 'http://localhost:1/', format: 'generic' as const, secret: null, client: null }
  await addReceiver(ledger.pool, { ...wanted, kinds: ['budget'], thresholds: [100] }, 'test')
  const reached = await findReachedThresholds(ledger.pool, today)
  const ofValue = (value: string) => expect.objectContaining({ value })
  expect(reached).toHaveLength(2)
  expect(reached.map(({ payload }) => payload.limit)).toEqual(
    expect.arrayContaining([ofValue('ann'), ofValue('bob')]),
  )
  await eraseValue(ledger.pool, 'user', 'ann', null)
  expect(await of('ann', 'smart')).toEqual([0n, 0n])
})

test('a value that is erased has nothing spent, and rows that no budget adds up are dropped', async () => {
  await limitUsers()
  await add(call('user=ann'), call('user=bob'))
  await eraseValue(ledger.pool, 'user', 'ann', null)
  expect(await spentOf('ann')).toEqual([0n, 0n])
  expect(await spentOf('bob')).toEqual([100n, 0n])
  await inTransaction(ledger.pool, dropSpentValues)
  expect(await spentOf('bob')).toEqual([0n, 0n])
})

test('alerts name the value that has spent a threshold, and none for calls without one', async () => {
  await limitUsers()
  const today = utcDayOf(Date.now())
  const now = { arrivedAtMs: Date.parse(`${today}T00:00:00Z`) }
  await addAccount(ledger.pool, 'cli_a')
  const wanted = { url: 'http://localhost:1/', format: 'generic' as const, secret: null, client: null }
  await addReceiver(ledger.pool, { ...wanted, kinds: ['budget'], thresholds: [50] }, 'test')
  await add(call('user=ann', now), call(undefined, now), call('user=bob', { ...now, costPico: '10' }))
  const reached = await findReachedThresholds(ledger.pool, today)
  expect(reached).toMatchObject([
    { clientId: 'cli_a', payload: { limit: { axis: 'user', value: 'ann' }, threshold: 50 } },
  ])
  expect(reached[0]?.payload.message).toContain('cli_a has spent 0.0000000001 USD of 0.00000000015 USD')
  expect(reached[0]?.payload.message).toContain(' for user ann: 50 %')
})

test('doctor says where only values have a budget, until their client has one, too', async () => {
  const find = async () => await VALUE_BUDGETS.find?.({ pool: ledger.pool })
  expect(await find()).toEqual([])
  await limitUsers()
  expect(await find()).toMatchObject({ state: 'note', detail: expect.stringContaining('all clients (user)') })
  await setLimits(ledger.pool, scopeOf(null), [budget(1n)], 'test')
  expect(await find()).toEqual([])
})
