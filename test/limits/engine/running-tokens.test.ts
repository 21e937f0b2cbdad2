import { expect, test } from 'vitest'
import type { Reservation } from '../../../src/limits/engine/limiter.ts'
import { parseField } from '../../../src/limits/sharing/gateway-field.ts'
import { type Answer, admit, callOf, Fleet, held, limitOf, settled, USD } from './fakes.ts'

const LIMIT = limitOf('t', { kind: 'tokens', amount: 10_000n })
const big = callOf({ estimatedTokens: 6_000 })

function end(reservation: Reservation, tokens: number, sequence: number): void {
  reservation.settle([{ model: 'm', costPico: USD / 1_000n, tokens, cachedTokens: 0 }], sequence)
  reservation.release()
}

function later(fleet: Fleet, gateway = fleet.first): { answer: Answer } {
  const box: { answer: Answer } = { answer: undefined }
  void Promise.resolve(gateway.admit(big)).then((value) => {
    box.answer = value
  })
  return box
}

test('a call that only the estimates of running calls keep out waits for them, and runs', async () => {
  const fleet = new Fleet([LIMIT])
  const running = held(await admit(fleet.first, big))
  const second = later(fleet)
  await fleet.pass(3_000)
  expect(second.answer).toBeUndefined()
  expect(fleet.first.rates(callOf({ model: 'm' })).tokens).toMatchObject({ limit: 10_000, remaining: 4_000 })
  end(running, 300, 1)
  await fleet.pass(200)
  held(second.answer)
  expect(fleet.first.rates(callOf({ model: 'm' })).tokens).toMatchObject({ remaining: 3_700 })
})

test('running calls that do not end are waited for five seconds, and then the call may come back soon', async () => {
  const fleet = new Fleet([LIMIT])
  held(await admit(fleet.first, big))
  const second = later(fleet)
  await fleet.pass(4_500)
  expect(second.answer).toBeUndefined()
  await fleet.pass(1_000)
  expect(second.answer).toMatchObject({ reason: 'reserved', detail: { headers: { 'retry-after': '1' } } })
})

test('tokens that were used refuse a call at once, with the time until enough of them is over', async () => {
  const fleet = new Fleet([LIMIT])
  end(held(await admit(fleet.first, big)), 5_000, 1)
  await fleet.pass(10_000)
  held(await admit(fleet.first, callOf({ estimatedTokens: 3_000 })))
  await fleet.pass(10_000)
  expect(await admit(fleet.first, big)).toMatchObject({
    reason: 'tokens',
    detail: { headers: { 'retry-after': '41' } },
  })
})

test('a call waits for what another gateway’s running call may use, and not for what it used', async () => {
  const fleet = new Fleet([LIMIT], 2)
  const [one, two] = fleet.gateways
  if (one === undefined || two === undefined) throw new Error('two gateways')
  const running = held(await admit(one, big))
  await fleet.pass(1_100)
  const second = later(fleet, two)
  await fleet.pass(1_000)
  expect(second.answer).toBeUndefined()
  end(running, 300, 1)
  await fleet.pass(400)
  end(held(second.answer), 5_900, 1)
  await fleet.pass(1_100)
  expect(await admit(one, big)).toMatchObject({ reason: 'tokens' })
})

test('a report of a gateway that says nothing of running calls is read as if all was used', () => {
  const share = parseField('{"c":1,"p":"p","a":{},"r":{"t":{"l":9,"u":[7]}}}')?.rates.get('t')
  expect(share).toEqual({ ceiling: 9, used: [7], pending: 0, wants: false })
})

test('a client that sends all the time gets all of its tokens, and no more', async () => {
  const amount = 400_000
  const fleet = new Fleet([limitOf('t', { kind: 'tokens', amount: BigInt(amount) })], 3)
  const running: {
    readonly reservation: Reservation
    readonly endsAtMs: number
    readonly gateway: number
  }[] = []
  const uses: { readonly atMs: number; readonly tokens: number }[] = []
  const sequences = [0, 0, 0]
  let busy = 0
  const backAtMs = new Array<number>(90).fill(0)
  for (let step = 0; step < 1_800; step += 1) {
    const { nowMs } = fleet.clock
    for (const call of running.splice(0)) {
      if (call.endsAtMs > nowMs) {
        running.push(call)
        continue
      }
      sequences[call.gateway] = (sequences[call.gateway] ?? 0) + 1
      end(call.reservation, 1_500, sequences[call.gateway] ?? 0)
      busy -= 1
    }
    for (const [worker, atMs] of backAtMs.entries()) {
      if (atMs > nowMs) continue
      const at = worker % 3
      backAtMs[worker] = Number.POSITIVE_INFINITY
      void Promise.resolve(fleet.gateways[at]?.admit(callOf({ estimatedTokens: 4_200 }))).then((answer) => {
        const waitMs = 'error' in (answer ?? {}) ? 1_000 : 2_000
        backAtMs[worker] = fleet.clock.nowMs + waitMs
        if (answer === null || answer === undefined || 'error' in answer) return
        busy += 1
        uses.push({ atMs: fleet.clock.nowMs, tokens: 1_500 })
        running.push({ reservation: answer, endsAtMs: fleet.clock.nowMs + 2_000, gateway: at })
      })
    }
    await settled()
    await fleet.pass(100)
  }
  expect(busy).toBeGreaterThanOrEqual(0)
  const within = (fromMs: number) =>
    uses
      .filter(({ atMs }) => atMs > fromMs && atMs <= fromMs + 60_000)
      .reduce((sum, { tokens }) => sum + tokens, 0)
  const end180 = fleet.clock.nowMs
  for (let fromMs = end180 - 120_000; fromMs <= end180 - 60_000; fromMs += 5_000) {
    expect(within(fromMs)).toBeLessThanOrEqual(amount)
  }
  expect(within(end180 - 120_000) + within(end180 - 60_000)).toBeGreaterThan(amount * 2 * 0.98)
})
