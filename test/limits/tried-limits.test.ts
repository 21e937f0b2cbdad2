import { afterAll, beforeAll, expect, test } from 'vitest'
import { NO_USAGE } from '../../src/call/usage.ts'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createClient } from '../../src/keys/clients.ts'
import { createClientKey } from '../../src/keys/keys.ts'
import { findTriedRefusals, selectTriedFigures } from '../../src/limits/conditions/tried-limits.ts'
import { selectLimitsOf } from '../../src/limits/shown-limits.ts'
import { type LimitOrder, setLimits } from '../../src/limits/table/change-limits.ts'
import { selectLimitChanges } from '../../src/limits/table/limit-changes.ts'
import { rotateLimitedKey } from '../../src/limits/table/rotate-limited-key.ts'
import { countTried } from '../../src/limits/tried/count-tried.ts'
import { selectTriedClients, sumTriedDays, writeTriedDay } from '../../src/limits/tried/tried-days.ts'
import { dropTried, enforceTried, selectTried, tryLimit } from '../../src/limits/tried/tried-table.ts'
import { addCallDay, selectCallDays } from '../../src/usage/calls/call-partitions.ts'
import { randomOf } from '../model/faults/random.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { limitOf, USD } from './engine/fakes.ts'
import { budget, requestsAMinute, scopeOf } from './limit-database.ts'
import { enforced, MONTH_MS, randomLimit, randomMonth } from './simulated-months.ts'

const SEEDS = 12
const MONTH_DAYS = 30
const DAY_MS = 86_400_000
const TODAY = utcDayOf(Date.now())
const NOON_MS = Date.parse(`${TODAY}T12:00:00Z`)

let ledger: LedgerDatabase

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  const { pool } = ledger
  const there = await selectCallDays(pool)
  const session = await pool.connect()
  const month = Array.from({ length: MONTH_DAYS }, (_, day) => utcDayOf(MONTH_MS + day * DAY_MS))
  for (const day of new Set([...month, addDays(TODAY, -2), addDays(TODAY, -1)]))
    if (!there.has(day)) await addCallDay(session, day)
  session.release()
})
afterAll(() => ledger.drop())

async function newClient(name: string) {
  const client = await createClient(ledger.pool, name)
  const order = { client: name, name: 'label', models: null, expiresInSeconds: null }
  const key = await createClientKey(ledger.pool, order, 'pepper')
  if (client === null || key === null) throw new Error(`${name} exists`)
  return { clientId: client.id, keyId: key.id }
}

async function countCalls(records: readonly Parameters<typeof aRecord>[0][]) {
  const producer = newProducer()
  const calls = records.map((record, index) => aCandidate(producer, index + 1, aRecord(record)))
  await ledger.rollUp('test', calls)
}

test('days counted one by one come to the calls that a gateway refuses', async () => {
  const { pool } = ledger
  const tried: { readonly id: string; readonly refused: number; readonly pico: bigint }[] = []
  for (let seed = 1; seed <= SEEDS; seed += 1) {
    const random = randomOf(seed)
    const limit = randomLimit(random)
    const calls = randomMonth(random)
    const { clientId, keyId } = await newClient(`seed ${seed}`)
    const refused = await enforced(limit, calls)
    await countCalls(
      calls.map(
        ({ latencyMs, tokens, cachedTokens, costPico, isUnpriced: _, isSettlement: _s, ...call }, index) => ({
          ...call,
          // Of one moment, the earlier one has the lower id.
          callId: `00000000-0000-7000-8000-${`${index}`.padStart(12, '0')}`.replace(
            /^0{8}/,
            `${seed}`.padStart(8, '0'),
          ),
          ...{ clientId, keyId: call.keyId === 'k' ? keyId : 'another key', latencyUs: latencyMs * 1_000 },
          ...{ costPico: `${costPico}`, reportedModel: call.model },
          usage: { ...NO_USAGE, inputTokens: tokens, cacheReadTokens: cachedTokens, outputTokens: 0 },
        }),
      ),
    )
    const { keyId: ofKey, model, since, ...terms } = limit
    const scope = scopeOf(clientId, { keyId: ofKey === null ? null : keyId, model })
    const order: LimitOrder = { ...terms, since: since ?? undefined }
    const id = await tryLimit(pool, scope, order, utcDayOf(MONTH_MS))
    const pico = refused.reduce((sum, index) => sum + (calls[index]?.costPico ?? 0n), 0n)
    tried.push({ id: id ?? '', refused: refused.length, pico })
  }
  const random = randomOf(SEEDS)
  for (let day = 0; day < MONTH_DAYS + 1; day += 1 + random(9))
    await countTried(pool, MONTH_MS + day * DAY_MS + random(DAY_MS))
  await countTried(pool, MONTH_MS + (MONTH_DAYS + 1) * DAY_MS)
  const sums = await sumTriedDays(pool, null)
  const counted = tried.map(({ id }) => ({
    ...{ id, refused: sums.get(id)?.refused, pico: sums.get(id)?.refusedPico },
  }))
  expect(counted).toEqual(tried)
  expect(tried.reduce((sum, { refused }) => sum + refused, 0)).toBeGreaterThan(100)
  for (const { id } of tried) await dropTried(pool, id)
})

test('a day is counted again each time, also twice at once, and calls that come in late are in it', async () => {
  const { pool } = ledger
  const { clientId } = await newClient('acme')
  await countCalls(
    [0, 1, 2].map((index) => ({ clientId, arrivedAtMs: NOON_MS + index * 1_000, costPico: `${USD}` })),
  )
  const id = (await tryLimit(pool, scopeOf(clientId), requestsAMinute(1n), TODAY)) ?? ''
  const nowMs = NOON_MS + 60_000
  const figures = async () => (await selectTriedFigures(pool, nowMs)).filter(({ limit }) => limit === id)
  expect(await figures()).toEqual([])
  for (const times of [1, 2, 2]) {
    await Promise.all(Array.from({ length: times }, () => countTried(pool, nowMs)))
    expect(await figures()).toEqual([{ limit: id, calls: 3, refused: 2 }])
  }
  await countCalls([{ clientId, arrivedAtMs: NOON_MS + 500, costPico: '7' }])
  await countTried(pool, nowMs)
  expect(await figures()).toEqual([{ limit: id, calls: 4, refused: 3 }])
  const sums = (await sumTriedDays(pool, null)).get(id)
  expect(sums).toMatchObject({
    refusedPico: 2n * USD + 7n,
    firstRefusedAt: new Date(NOON_MS + 500),
    lastRefusedAt: new Date(NOON_MS + 2_000),
  })
  await dropTried(pool, id)
  expect((await sumTriedDays(pool, null)).size).toBe(0)
  await countTried(pool, nowMs)
  expect((await sumTriedDays(pool, null)).size).toBe(0)
})

test('a default is tried on each client without one of its own, and alerts once a day', async () => {
  const { pool } = ledger
  const [first, second, limited] = [
    await newClient('one'),
    await newClient('two'),
    await newClient('limited'),
  ]
  await countCalls(
    [first, first, first, second, second, limited, limited].map(({ clientId }, index) => ({
      ...{ clientId, arrivedAtMs: NOON_MS + index * 1_000, costPico: `${USD}`, model: 'only-here' },
    })),
  )
  await setLimits(pool, scopeOf(limited.clientId, { model: 'only-here' }), [budget(USD)], 'test')
  const scope = scopeOf(null, { model: 'only-here' })
  const id = (await tryLimit(pool, scope, budget(USD), TODAY)) ?? ''
  await countTried(pool, NOON_MS)
  expect(await selectTriedFigures(pool, NOON_MS)).toEqual([{ limit: id, calls: 5, refused: 3 }])
  expect(await selectTriedClients(pool, TODAY)).toMatchObject([
    { client: 'one', refused: '2', pico: `${2n * USD}` },
    { client: 'two', refused: '1' },
  ])
  expect(await findTriedRefusals(pool, addDays(TODAY, -1))).toEqual([])
  const found = await findTriedRefusals(pool, TODAY)
  expect(found).toMatchObject([
    { subject: id, period: TODAY, payload: { refused_calls: 3, refused_usd: '3' } },
  ])
  await dropTried(pool, id)
})

test('a rate counts what was used before midnight, also once that day is counted for good', async () => {
  const { pool } = ledger
  const { clientId } = await newClient('late')
  const midnightMs = Date.parse(`${addDays(TODAY, -1)}T00:00:00Z`)
  await countCalls([-10_000, 10_000].map((ms) => ({ clientId, arrivedAtMs: midnightMs + ms })))
  const id = (await tryLimit(pool, scopeOf(clientId), requestsAMinute(1n), addDays(TODAY, -2))) ?? ''
  for (const hours of [2, 3]) {
    await countTried(pool, midnightMs + hours * 3_600_000)
    expect((await sumTriedDays(pool, null)).get(id)).toMatchObject({ calls: 2, refused: 1 })
  }
  await dropTried(pool, id)
})

test('what was refused before is not spent of a budget on later days of its period', async () => {
  const { pool } = ledger
  const { clientId } = await newClient('prepaid')
  const days = [-2, -1, 0].map((back) => addDays(TODAY, back))
  const order = budget(10n * USD, { per: 'total', since: days[0] })
  const id = (await tryLimit(pool, scopeOf(clientId), order, days[0] ?? '')) ?? ''
  // The second one comes while the first one holds most of the budget.
  const calls = [
    { on: 0, minute: 0, usd: 6n, latencyUs: 3_600_000_000 },
    { on: 0, minute: 1, usd: 6n },
    { on: 1, minute: 0, usd: 3n },
    { on: 2, minute: 0, usd: 3n },
    { on: 2, minute: 1, usd: 3n },
  ]
  await countCalls(
    calls.map(({ on, minute, usd, latencyUs = 1_000 }) => ({
      ...{ clientId, latencyUs, costPico: `${usd * USD}` },
      arrivedAtMs: Date.parse(`${days[on]}T12:00:00Z`) + minute * 60_000,
    })),
  )
  for (const day of days) await countTried(pool, Date.parse(`${addDays(day, 1)}T02:00:00Z`))
  const sums = await Promise.all(days.map((day) => sumTriedDays(pool, { fromDay: day, toDay: day })))
  expect(sums.map((of) => of.get(id)?.refused)).toEqual([1, 0, 1])
  await dropTried(pool, id)
})

test('what was spent on days whose calls are kept no more is spent of a budget all the same', async () => {
  const { pool } = ledger
  const { clientId } = await newClient('kept no more')
  const [first = ''] = [...(await selectCallDays(pool))].toSorted()
  const gone = addDays(first, -1)
  const order = budget(10n * USD, { per: 'total', since: gone })
  const id = (await tryLimit(pool, scopeOf(clientId), order, gone)) ?? ''
  await countCalls(
    [gone, first, first, first].map((day, minute) => ({
      ...{ clientId, costPico: `${(day === gone ? 6n : 3n) * USD}` },
      arrivedAtMs: Date.parse(`${day}T12:00:00Z`) + minute * 60_000,
    })),
  )
  await writeTriedDay(pool, id, gone, new Map(), Date.parse(`${first}T02:00:00Z`))
  await countTried(pool, Date.parse(`${first}T23:00:00Z`))
  expect((await sumTriedDays(pool, { fromDay: first, toDay: first })).get(id)).toMatchObject({
    ...{ calls: 3, refused: 1 },
  })
  await dropTried(pool, id)
})

test('a tried limit goes on with the key that takes the place of its own, and is enforced as it was tried', async () => {
  const { pool } = ledger
  const { clientId, keyId } = await newClient('rotating')
  const order = budget(USD, { per: 'day', allowsUnpriced: true, whenAlone: 'share' })
  const scope = scopeOf(clientId, { keyId, model: 'gpt-4o' })
  const id = (await tryLimit(pool, scope, order, TODAY)) ?? ''
  expect(await tryLimit(pool, scope, order, addDays(TODAY, 1))).toBe(id)
  const rotation = await rotateLimitedKey(pool, keyId, 0, 'pepper', 'ann')
  const newKey = rotation.kind === 'rotated' ? rotation.key.id : ''
  expect(await selectTried(pool)).toMatchObject([
    { client: 'rotating', limit: { keyId: newKey, formerKeys: [keyId] } },
  ])
  expect(await selectLimitsOf(pool, clientId)).toEqual([])
  const set = await enforceTried(pool, id, 'ann')
  const expected = limitOf(set?.id ?? '', {
    ...{
      clientId,
      keyId: newKey,
      formerKeys: [keyId],
      model: 'gpt-4o',
      per: 'day',
      amount: USD,
      allowsUnpriced: true,
    },
    whenAlone: 'share',
  })
  expect(await selectLimitsOf(pool, clientId)).toMatchObject([{ limit: expected }])
  const [change] = await selectLimitChanges(pool, { clientId, before: null, rows: 1 })
  expect(change).toMatchObject({ who: 'ann', action: 'set', before: null })
  expect(await selectTried(pool)).toEqual([])
  expect(await enforceTried(pool, id, 'ann')).toBeNull()
})

test('other terms begin another trial, and there are 100 at most', async () => {
  const { pool } = ledger
  const { clientId } = await newClient('crowd')
  const first = await tryLimit(pool, scopeOf(clientId), requestsAMinute(1n), TODAY)
  const second = await tryLimit(pool, scopeOf(clientId), requestsAMinute(2n), TODAY)
  expect(second).not.toBe(first)
  expect(await selectTried(pool)).toMatchObject([{ limit: { id: second, amount: 2n } }])
  for (let one = 2; one <= 100; one += 1)
    await tryLimit(pool, scopeOf(clientId, { model: `m${one}` }), requestsAMinute(1n), TODAY)
  expect(
    await tryLimit(pool, scopeOf(clientId, { model: 'one-more' }), requestsAMinute(1n), TODAY),
  ).toBeNull()
  expect(await selectTried(pool)).toHaveLength(100)
})
