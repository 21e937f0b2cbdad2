import { afterAll, beforeAll, expect, test } from 'vitest'
import { utcDayOf } from '../../src/domain/utc-day.ts'
import { selectLimitsOf } from '../../src/limits/shown-limits.ts'
import { removeLimits, setLimits } from '../../src/limits/table/change-limits.ts'
import { selectLimitChanges } from '../../src/limits/table/limit-changes.ts'
import { raiseLimits, topUpBudget } from '../../src/limits/table/raise-limits.ts'
import { addRefusedCalls, selectRefusedCalls } from '../../src/limits/table/refused-calls.ts'
import { asking, explainRows } from '../support/rows-read.ts'
import { budget, type LimitDatabase, openLimitDatabase, requestsAMinute, scopeOf } from './limit-database.ts'

let database: LimitDatabase

beforeAll(async () => {
  database = await openLimitDatabase()
})
afterAll(() => database.drop())

const limitsOf = async (clientId: string) =>
  (await selectLimitsOf(database.pool, clientId)).map(({ limit }) => limit)
const historyOf = async (clientId: string) =>
  await selectLimitChanges(database.pool, { clientId, before: null, rows: 100 })

test('several limits are set at once, and again in the place of those of their sort', async () => {
  const clientId = await database.newClient('set')
  const orders = [requestsAMinute(60n), budget(10n), budget(8n, { isSoft: true }), budget(3n, { per: 'day' })]
  const first = await setLimits(database.pool, scopeOf(clientId), orders, 'ann')
  expect(await limitsOf(clientId)).toEqual(first)
  const [again] = await setLimits(database.pool, scopeOf(clientId), [budget(11n)], 'ben')
  expect(again).toEqual({ ...first[1], amount: 11n })
  expect(await limitsOf(clientId)).toHaveLength(4)
  expect((await historyOf(clientId)).map(({ who, action }) => `${who} ${action}`)).toEqual([
    'ben set',
    ...Array.from({ length: 4 }, () => 'ann set'),
  ])
})

test('what is set as it was changes nothing, and what is left out stays', async () => {
  const clientId = await database.newClient('same')
  const tokens = { kind: 'tokens', per: null, isSoft: false, amount: 1_000n } as const
  await setLimits(database.pool, scopeOf(clientId), [{ ...tokens, countsCached: false }], 'ann')
  await setLimits(database.pool, scopeOf(clientId), [tokens], 'ann')
  expect(await historyOf(clientId)).toHaveLength(1)
  const total = budget(5n, { per: 'total', since: '2026-01-02', allowsUnpriced: true, whenAlone: 'share' })
  await setLimits(database.pool, scopeOf(clientId), [total], 'ann')
  const more = budget(6n, { per: 'total' })
  expect(await setLimits(database.pool, scopeOf(clientId), [more], 'ann')).toMatchObject([
    { amount: 6n, since: '2026-01-02', allowsUnpriced: true, whenAlone: 'share' },
  ])
})

test('a budget for all time counts from the day it is set', async () => {
  const clientId = await database.newClient('total')
  const [limit] = await setLimits(database.pool, scopeOf(clientId), [budget(5n, { per: 'total' })], 'ann')
  expect(limit?.since).toBe(utcDayOf(Date.now()))
})

test('limits of a key and of models stand beside those of the client', async () => {
  const clientId = await database.newClient('scopes')
  const keyId = await database.newKey('scopes')
  for (const scope of [{}, { keyId }, { model: 'gpt*' }, { keyId, model: 'gpt*' }])
    await setLimits(database.pool, scopeOf(clientId, scope), [requestsAMinute(1n)], 'ann')
  expect(await limitsOf(clientId)).toHaveLength(4)
  await removeLimits(database.pool, { clientId, keyId }, 'ann')
  expect(await limitsOf(clientId)).toMatchObject([{ model: null }, { model: 'gpt*', keyId: null }])
})

test('the same limit set by many at once is one limit, and every change of it is in the audit', async () => {
  const clientId = await database.newClient('race')
  const amounts = Array.from({ length: 20 }, (_, index) => BigInt(index + 1))
  await Promise.all(
    amounts.map((amount) =>
      setLimits(database.pool, scopeOf(clientId), [requestsAMinute(amount)], `user ${amount}`),
    ),
  )
  const [limit, ...others] = await limitsOf(clientId)
  expect(others).toEqual([])
  const history = await historyOf(clientId)
  expect(history).toHaveLength(20)
  // Each change begins where the one before it ended.
  for (const [index, { before }] of history.entries())
    expect(before).toEqual(history[index + 1]?.after ?? null)
  expect(history[0]?.after).toMatchObject({ limit: Number(limit?.amount) })
})

test('a raise needs its limit, goes above it, and takes the place of the raise before', async () => {
  const clientId = await database.newClient('raise')
  const untilMs = Date.now() + 60_000
  const raise = (amount: bigint, until = untilMs) =>
    raiseLimits(database.pool, scopeOf(clientId), [requestsAMinute(amount)], until, 'ann')
  expect(await raise(5n)).toMatchObject({ kind: 'missing', sort: { kind: 'requests' } })
  await setLimits(database.pool, scopeOf(clientId), [requestsAMinute(60n)], 'ann')
  expect(await raise(60n)).toMatchObject({ kind: 'not_above', limit: { amount: 60n } })
  expect(await raise(90n)).toMatchObject({ kind: 'raised', limits: [{ raise: { amount: 90n, untilMs } }] })
  expect(await raise(80n, untilMs + 1)).toMatchObject({
    limits: [{ amount: 60n, raise: { amount: 80n, untilMs: untilMs + 1 } }],
  })
  await setLimits(database.pool, scopeOf(clientId), [requestsAMinute(61n)], 'ann')
  expect(await limitsOf(clientId)).toMatchObject([{ amount: 61n, raise: { amount: 80n } }])
})

test('of several raises all are made or none', async () => {
  const clientId = await database.newClient('raise none')
  await setLimits(database.pool, scopeOf(clientId), [requestsAMinute(60n)], 'ann')
  const orders = [requestsAMinute(90n), budget(5n)]
  const untilMs = Date.now() + 60_000
  expect(await raiseLimits(database.pool, scopeOf(clientId), orders, untilMs, 'ann')).toMatchObject({
    kind: 'missing',
    sort: { kind: 'budget' },
  })
  expect(await limitsOf(clientId)).toMatchObject([{ raise: null }])
})

test('a payment tops a budget up once, however often and by how many at once it is sent', async () => {
  const clientId = await database.newClient('prepaid')
  const topUp = (pico: bigint, reference: string | null) =>
    topUpBudget(database.pool, scopeOf(clientId), { isSoft: false, pico, reference }, 'ann')
  expect(await topUp(5n, 'invoice 1')).toEqual({ kind: 'missing' })
  await setLimits(database.pool, scopeOf(clientId), [budget(10n, { per: 'total' })], 'ann')
  const kinds = (await Promise.all(Array.from({ length: 8 }, () => topUp(5n, 'invoice 1')))).map(
    ({ kind }) => kind,
  )
  expect(kinds.toSorted()).toEqual([...Array.from({ length: 7 }, () => 'repeated'), 'topped_up'])
  expect(await topUp(5n, null)).toMatchObject({ limit: { amount: 20n } })
  expect(await topUp(5n, null)).toMatchObject({ limit: { amount: 25n } })
  expect(await topUp(-25n, null)).toMatchObject({ kind: 'too_little', limit: { amount: 25n } })
  expect(await topUp(-24n, null)).toMatchObject({ kind: 'topped_up', limit: { amount: 1n } })
})

test('limits are removed by id, by client, by sort, and as defaults', async () => {
  const clientId = await database.newClient('remove')
  await setLimits(database.pool, scopeOf(null), [requestsAMinute(1n)], 'ann')
  const [requests, month, soft] = await setLimits(
    database.pool,
    scopeOf(clientId),
    [requestsAMinute(1n), budget(1n), budget(1n, { isSoft: true })],
    'ann',
  )
  expect(await removeLimits(database.pool, { ids: [requests?.id ?? ''] }, 'ben')).toEqual([requests])
  expect(await removeLimits(database.pool, { ids: [requests?.id ?? ''] }, 'ben')).toEqual([])
  const hardOnes = { clientId, sorts: [{ kind: 'budget', isSoft: false }] } as const
  expect(await removeLimits(database.pool, hardOnes, 'ben')).toEqual([month])
  expect(await removeLimits(database.pool, { clientId }, 'ben')).toEqual([soft])
  expect(await removeLimits(database.pool, { clientId: null }, 'ben')).toMatchObject([{ clientId: null }])
  expect((await historyOf(clientId)).slice(0, 3)).toMatchObject([
    { who: 'ben', action: 'remove', client: 'remove', before: { kind: 'budget', soft: true }, after: null },
    { before: { kind: 'budget', soft: false } },
    { before: { kind: 'requests', limit: 1 } },
  ])
})

test('the history comes in pages, the newest first', async () => {
  const clientId = await database.newClient('pages')
  for (const amount of [1n, 2n, 3n])
    await setLimits(database.pool, scopeOf(clientId), [requestsAMinute(amount)], 'ann')
  const newest = await selectLimitChanges(database.pool, { clientId, before: null, rows: 2 })
  expect(newest.map(({ after }) => after)).toMatchObject([{ limit: 3 }, { limit: 2 }])
  const before = newest[1]?.id ?? null
  expect(await selectLimitChanges(database.pool, { clientId, before, rows: 2 })).toMatchObject([
    { before: null, after: { limit: 1 } },
  ])
})

test('refused calls add up by day, client and reason, also from several gateways at once', async () => {
  const clientId = await database.newClient('refused')
  const of = { keyId: 'key_1', model: '', limitId: '1' }
  const rows = [
    { day: '2026-02-02', clientId: 'cli_gone', ...of, reason: 'budget', calls: 1 },
    { day: '2026-02-01', clientId, ...of, reason: 'budget', calls: 3 },
    { day: '2026-02-01', clientId, ...of, reason: 'requests', calls: 1 },
  ]
  await Promise.all([rows, rows.toReversed(), rows].map((refused) => addRefusedCalls(database.pool, refused)))
  await addRefusedCalls(database.pool, [])
  // As gateways of the release before go on writing them.
  await database.pool.query(
    `insert into tallygate.refused_calls (day, client_id, reason, calls) values ('2026-02-01', $1, 'requests', 3)`,
    [clientId],
  )
  const days = { fromDay: '2026-02-01', toDay: '2026-02-02' }
  const none = { client: null, reason: null, day: null, key: null, model: null, limit: null }
  expect(await selectRefusedCalls(database.pool, days, ['client', 'reason'])).toEqual([
    { ...none, client: 'refused', reason: 'budget', calls: 9n },
    { ...none, client: 'refused', reason: 'requests', calls: 6n },
    { ...none, client: 'cli_gone', reason: 'budget', calls: 3n },
  ])
  expect(await selectRefusedCalls(database.pool, days, [])).toEqual([{ ...none, calls: 18n }])
  expect(await selectRefusedCalls(database.pool, { ...days, toDay: '2026-02-01' }, ['day'])).toEqual([
    { ...none, day: '2026-02-01', calls: 15n },
  ])
})

test('names of clients are read for the refused calls that are shown, however many were refused', async () => {
  const day = '2026-03-01'
  await database.pool.query(
    `with c as (insert into tallygate.clients (id, name, version) select 'many ' || n, 'many ' || n, 0
       from generate_series(1, 500) n returning id)
     insert into tallygate.refusals select $1, id, '', '', '', 'budget', 3 from c`,
    [day],
  )
  const { given: found, asked } = await asking(database.pool, () =>
    selectRefusedCalls(database.pool, { fromDay: day, toDay: day }, ['client'], null, 2),
  )
  expect(found.map(({ client, calls }) => [client, calls])).toEqual([
    ['many 1', 3n],
    ['many 10', 3n],
  ])
  expect(asked).toHaveLength(1)
  const steps = await Promise.all(asked.map((one) => explainRows(database.pool, one)))
  const joined = steps.flat().filter(({ joins }) => joins)
  expect(joined).toMatchObject([{ rows: 2 }])
})
