import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { rounds } from '../../support/rounds.ts'
import { BillingDeployment, CLIENTS, KINDS, type MortalWorker } from './deployment.ts'
import type { Fault } from './stand-in.ts'

let it: BillingDeployment

beforeAll(async () => {
  it = await BillingDeployment.open()
})
afterEach(() => it.clear())
afterAll(() => it.close())

/** The same numbers for the same seed. */
function numbersFrom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const FAULTS: readonly Fault[] = ['none', 'away', 'slow', 'twice', 'after', 'cut', 'refuses', 'none']

/** Rounds of a minute each: a day of them in the long suite. */
const ROUNDS = rounds({ short: 6, long: 1_440 })

test('sums at every billing system equal the ledger, whatever fails while calls and corrections come in', {
  timeout: rounds({ short: 60_000, long: 1_800_000 }),
}, async () => {
  const next = numbersFrom(20_261_126)
  const receivers = KINDS.map((kind) => it.receiver(kind, { byModel: next(2) === 0 }))
  for (const { name } of receivers) await it.map(name)
  it.standIn.fail(() => FAULTS[next(FAULTS.length)] ?? 'none')
  let workers: MortalWorker[] = [it.start(receivers), it.start(receivers)]
  for (let round = 0; round < ROUNDS; round += 1) {
    const costs = Array.from({ length: 1 + next(6) }, () => BigInt(1 + next(5_000_000)) * 1_000n)
    const clientId = CLIENTS[next(CLIENTS.length)] ?? ''
    await it.count(costs, { clientId, model: `model-${next(3)}`, daysAgo: next(3) })
    if (next(3) === 0)
      await it.credit(clientId, BigInt(next(2_000_001) - 1_000_000) * 1_000n + 1_000n, next(3))
    if (next(4) === 0) {
      // The oldest of them dies as by kill -9, and another one takes its place.
      workers[0]?.kill()
      workers = [...workers.slice(1), it.start(receivers)]
    }
    // Some system gets a request before the next round, whatever becomes of it.
    const { requests } = it.standIn.seen
    await expect.poll(() => it.standIn.seen.requests, { interval: 2 }).toBeGreaterThan(requests)
  }
  it.standIn.fail(() => 'none')
  // Stripe takes an event a request, so it is behind: it has to come on, however long all of it takes.
  for (let left = await it.waiting(); left > 0; left = await it.waiting())
    await expect.poll(() => it.waiting()).toBeLessThan(left)
  await expect.poll(() => it.standIn.sums()).toEqual(await it.sums(receivers))
  await expect.poll(() => it.waiting()).toBe(0)
  const { rows } = await it.pool.query(
    `select state, count(*)::int as n from tallygate.billing_events group by 1`,
  )
  expect(rows).toEqual([{ state: 'sent', n: it.standIn.taken.length }])
})
