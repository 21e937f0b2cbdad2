import { afterAll, beforeAll, expect, test } from 'vitest'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createClient } from '../../src/keys/clients.ts'
import type { Limit } from '../../src/limits/limit.ts'
import { replayLimit } from '../../src/limits/replay/replay-calls.ts'
import { setLimits } from '../../src/limits/table/change-limits.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import { limitOf, USD } from './engine/fakes.ts'
import { budget as budgetOf, requestsAMinute, scopeOf } from './limit-database.ts'

const DAY = addDays(utcDayOf(Date.now()), -1)
const NOON_MS = Date.parse(`${DAY}T12:00:00Z`)

let ledger: LedgerDatabase
let acme: string
let beta: string

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  const ids = await Promise.all(
    ['acme', 'beta'].map(async (name) => (await createClient(ledger.pool, name))?.id),
  )
  acme = ids[0] ?? ''
  beta = ids[1] ?? ''
  const producer = newProducer()
  const call = (index: number, clientId: string) =>
    aCandidate(
      producer,
      index + 1,
      aRecord({ clientId, arrivedAtMs: NOON_MS - index * 5_000, costPico: `${USD / 4n}` }),
    )
  // The later ones were counted first.
  await ledger.rollUp('test', [
    ...Array.from({ length: 6 }, (_, index) => call(index, acme)),
    ...Array.from({ length: 3 }, (_, index) => call(index + 6, beta)),
  ])
})
afterAll(() => ledger.drop())

const replay = (limit: Limit, fromDay = DAY) =>
  replayLimit(ledger.pool, limit, { fromDay, toDay: DAY }, () => {})

test('calls are replayed in the order of their arrival, and the first that is refused is named', async () => {
  const limit = limitOf('1', { clientId: acme, kind: 'requests', per: null, amount: 4n })
  const { clients, refused, daysWithoutCalls } = await replay(limit)
  expect(clients).toEqual([
    {
      ...{ clientId: acme, client: 'acme', calls: 6, refused: 2, refusedPico: USD / 2n },
      ...{ sparedPico: USD / 2n, firstRefusedAtMs: NOON_MS - 5_000, lastRefusedAtMs: NOON_MS },
    },
  ])
  expect(refused.map(({ arrivedAtMs }) => arrivedAtMs)).toEqual([NOON_MS - 5_000, NOON_MS])
  expect(daysWithoutCalls).toEqual([])
})

test('a default holds for each client apart, but for those that have one of their own', async () => {
  const budget = limitOf('1', { clientId: null, per: 'month', amount: USD / 2n })
  const sums = async () =>
    (await replay(budget)).clients.map(({ client, refused }) => [client, refused]).toSorted()
  const ofBoth = [
    ['acme', 4],
    ['beta', 1],
  ]
  expect(await sums()).toEqual(ofBoth)
  await setLimits(ledger.pool, scopeOf(acme), [requestsAMinute(10n), budgetOf(USD, { per: 'day' })], 'test')
  expect(await sums()).toEqual(ofBoth)
  await setLimits(ledger.pool, scopeOf(acme), [budgetOf(USD)], 'test')
  expect(await sums()).toEqual([['beta', 1]])
})

test('what was spent of a budget before the first day counts, and days without calls are named', async () => {
  const before = addDays(DAY, -5)
  const record = aRecord({
    clientId: acme,
    arrivedAtMs: Date.parse(`${before}T12:00:00Z`),
    costPico: `${USD}`,
  })
  await ledger.rollUp('test', [aCandidate(newProducer(), 1, record)])
  const limit = limitOf('1', { clientId: acme, per: 'total', since: before, amount: USD + USD / 2n })
  expect((await replay(limit)).clients).toMatchObject([{ calls: 6, refused: 4 }])
  expect((await replay(limit, before)).daysWithoutCalls).toEqual([before])
})
