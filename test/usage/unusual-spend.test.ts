import { afterAll, beforeAll, expect, test } from 'vitest'
import { addDays, utcDayOf } from '../../src/domain/utc-day.ts'
import { createClient } from '../../src/keys/clients.ts'
import { UNUSUAL_SPEND, usualBeside } from '../../src/usage/conditions/unusual-spend.ts'
import { type Random, randomOf } from '../model/faults/random.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'

const USD = 1_000_000_000_000
const CLIENTS = 500
const WEEKS = 60
/** One in so many days is wrongly taken for unusual, at most. */
const ONE_IN = 1_000

/** About 0, with a deviation of 1 (Box and Muller). */
function normal(random: Random): number {
  const [first, second] = [(random(1_000_000) + 1) / 1_000_001, random(1_000_000) / 1_000_000]
  return Math.sqrt(-2 * Math.log(first)) * Math.cos(2 * Math.PI * second)
}

/** What a client spends on one weekday over weeks: it grows or falls slowly, and scatters by a third or less. */
function weeks(random: Random): bigint[] {
  const usual = 10 ** (1 + random(300) / 100)
  const growth = 1 + (random(60) - 20) / 1_000
  const scatter = 0.05 + random(250) / 1_000
  return Array.from({ length: WEEKS }, (_, week) =>
    BigInt(Math.round(usual * growth ** week * Math.exp(scatter * normal(random)) * USD)),
  )
}

test('over days that grow, fall and scatter by up to a third fewer than one in 1,000 is taken for unusual', () => {
  const random = randomOf(1)
  let days = 0
  let alarms = 0
  for (let client = 0; client < CLIENTS; client += 1) {
    const spent = weeks(random)
    for (let week = 8; week < WEEKS; week += 1) {
      days += 1
      if (usualBeside(spent[week] ?? 0n, spent.slice(week - 8, week)) !== null) alarms += 1
    }
  }
  expect(days).toBe(CLIENTS * (WEEKS - 8))
  expect(alarms * ONE_IN).toBeLessThan(days)
})

test('five times what is usual is unusual, also where one day before was, and no first weeks are', () => {
  const random = randomOf(2)
  for (let client = 0; client < CLIENTS; client += 1) {
    const before = weeks(random).slice(0, 8)
    const sorted = before.toSorted((a, b) => Number(a - b))
    const high = (sorted[7] ?? 0n) * 5n
    const oneWas = before.with(random(8), high * 10n)
    expect([high, usualBeside(high, before)]).not.toEqual([high, null])
    expect([high, usualBeside(high * 2n, oneWas)]).not.toEqual([high, null])
    expect(usualBeside(high, before.slice(0, 3))).toBeNull()
  }
  expect(
    usualBeside(
      4n * BigInt(USD),
      Array.from({ length: 8 }, () => 1n),
    ),
  ).toBeNull()
})

let ledger: LedgerDatabase
beforeAll(async () => {
  ledger = await openLedgerDatabase()
})
afterAll(() => ledger.drop())

test('a client, and a key of a usual one, are named once with what is usual, also of a day that has just ended', async () => {
  const today = utcDayOf(Date.now())
  const a = await createClient(ledger.pool, 'acme')
  const b = await createClient(ledger.pool, 'beta')
  if (a === null || b === null) throw new Error('they exist')
  const producer = newProducer()
  let sequence = 0
  const add = async (day: string, clientId: string, keyId: string, usd: number) => {
    sequence += 1
    const arrivedAtMs = Date.parse(`${day}T00:00:00Z`)
    const record = aRecord({ arrivedAtMs, clientId, keyId, costPico: `${usd * USD}` })
    await ledger.rollUp('test', [aCandidate(producer, sequence, record)])
  }
  for (let week = 1; week <= 8; week += 1) {
    const day = addDays(today, -7 * week)
    await add(day, a.id, 'k1', 10)
    await add(day, b.id, 'k2', 10)
    await add(day, b.id, 'k3', 90)
  }
  await add(today, a.id, 'k1', 200)
  await add(today, b.id, 'k2', 90)
  await add(today, b.id, 'k3', 20)
  const { alert } = UNUSUAL_SPEND
  if (alert === undefined || !('finders' in alert)) throw new Error('no finder')
  const ports = {
    pool: ledger.pool,
    redis: () => Promise.reject(new Error('none')),
    redisPrefix: '',
    nowMs: 0,
  }
  const days = [
    { fromDay: today, today },
    { fromDay: today, today: addDays(today, 1) },
  ]
  for (const watched of days) {
    const found = await alert.finders[0](ports, watched)
    expect(
      found.map(({ subject, period, clientId, payload }) => [subject, period, clientId, payload.usual_usd]),
    ).toEqual([
      [a.id, today, a.id, '10'],
      [`${b.id} k2`, today, b.id, '10'],
    ])
  }
})
