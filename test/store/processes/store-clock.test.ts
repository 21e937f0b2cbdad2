import { expect, test } from 'vitest'
import type { LogFields } from '../../../src/lib/logger.ts'
import { StoreClock } from '../../../src/store/processes/store-clock.ts'

const DAY_MS = 86_400_000

/** Two clocks that a test moves, and a poll that Postgres answers half a round trip after it was asked. */
function aWorld() {
  const events: string[] = []
  const log = {
    info: ({ event }: LogFields) => void events.push(event),
    warn: ({ event }: LogFields) => void events.push(event),
    error: ({ event }: LogFields) => void events.push(event),
  }
  const at = { monotonicMs: 5_000, ownMs: Date.parse('2027-03-10T12:00:00Z'), storeMs: 0 }
  at.storeMs = at.ownMs
  const clock = new StoreClock({ log, wallNow: () => at.ownMs, monotonicNow: () => at.monotonicMs })
  const pass = (ms: number) => {
    at.monotonicMs += ms
    at.ownMs += ms
    at.storeMs += ms
  }
  const poll = (roundTripMs = 2, laterMs = roundTripMs / 2) => {
    const askedAtMs = clock.asks()
    pass(roundTripMs - laterMs)
    const said = at.storeMs
    pass(laterMs)
    clock.learn(said, askedAtMs)
  }
  return { at, clock, events, pass, poll }
}

test('before Postgres has answered the own clock holds, and nothing is said of it', () => {
  const { at, clock } = aWorld()
  expect([clock.now(), clock.offsetMs, clock.isOff, clock.isFar]).toEqual([at.ownMs, null, false, false])
})

test('half of the round trip makes no difference, and a slow poll calls no clock wrong', () => {
  const { clock, events, poll, pass } = aWorld()
  for (const roundTripMs of [2_400, 900, 4, 2_400]) {
    poll(roundTripMs, roundTripMs)
    pass(500)
  }
  expect(Math.abs(clock.offsetMs ?? Number.NaN)).toBeLessThan(3)
  expect(events).toEqual([])
})

test.each([
  0, 3_000, 200_000,
])('an answer that took %s ms proves no more than it can, whichever way was the slow one', (roundTripMs) => {
  for (const laterMs of [0, roundTripMs]) {
    const { at, clock, events, poll } = aWorld()
    at.ownMs += 20
    poll(roundTripMs, laterMs)
    expect(Math.abs(clock.provenOffsetMs ?? Number.NaN)).toBeLessThanOrEqual(1_000)
    expect([clock.now(), clock.isOff, clock.isFar, events]).toEqual([at.ownMs, false, false, []])
  }
})

test('a clock that is off for certain is named with all that it is off by', () => {
  const { at, clock, poll } = aWorld()
  at.ownMs += 2_000
  poll()
  expect(clock.provenOffsetMs).toBe(-2_000)
})

test('a clock that is a second off is named once, and once when it is right again', () => {
  const { at, clock, events, poll, pass } = aWorld()
  const named = (aheadMs: number): boolean => {
    at.ownMs = at.storeMs + aheadMs
    for (let polls = 0; polls < 3; polls += 1) {
      poll()
      pass(500)
    }
    return clock.isOff
  }
  expect([990, 1_010, 990, 1_010, 700, 990, -1_010].map(named)).toEqual([
    false,
    true,
    true,
    true,
    false,
    false,
    true,
  ])
  expect(events).toEqual(['clock.off', 'clock.right', 'clock.off'])
})

test.each([
  ['2 s', 2_000, 2_000],
  ['a minute', 60_000, 60_000],
  ['10 minutes', 600_000, 0],
  ['400 days', 400 * DAY_MS, 0],
  ['-800 days', -800 * DAY_MS, 0],
])('a clock that is off by %s gives the time of Postgres beyond a minute, else its own', (_, offMs, left) => {
  const { at, clock, poll, pass } = aWorld()
  at.ownMs += offMs
  poll()
  pass(3_600_000) // Postgres is away: the last reading holds on
  expect([clock.now() - at.storeMs, clock.isOff, clock.isFar]).toEqual([left, true, left === 0])
  expect(clock.offsetMs).toBe(-offMs)
})

test.each([
  ['forward', 10 * 60_000],
  ['back', -10 * 60_000],
])('a clock that drifts %s by a minute or more is left within a second of a call', (_, offMs) => {
  const { at, clock, poll, pass } = aWorld()
  poll()
  expect(clock.now()).toBe(at.ownMs)
  pass(10 * 60_000)
  at.ownMs += offMs + 999
  clock.now()
  pass(1)
  expect(clock.now()).toBe(at.storeMs)
})

test('a clock that jumps by 400 days is not followed for one call, before any poll', () => {
  const { at, clock, poll } = aWorld()
  poll()
  at.ownMs += 400 * DAY_MS
  expect(clock.now()).toBe(at.storeMs)
  at.ownMs = at.storeMs + 5
  expect(clock.now()).toBe(at.ownMs)
})

test.each([
  ['forward', 400 * DAY_MS],
  ['back', -10 * 60_000],
])('a Postgres that jumps %s away from clocks that agreed with it is named and not followed', (_, jumpMs) => {
  const { at, clock, events, poll, pass } = aWorld()
  poll()
  pass(500)
  at.storeMs += jumpMs
  for (let polls = 0; polls < 5; polls += 1) {
    poll()
    pass(500)
    expect(clock.now()).toBe(at.ownMs)
  }
  expect([clock.isOff, clock.isFar, events]).toEqual([true, true, ['clock.off']])
  // It was set right: from now on it counts again.
  at.storeMs = at.ownMs
  poll()
  at.ownMs += 400 * DAY_MS
  expect([clock.now(), events]).toEqual([at.storeMs, ['clock.off', 'clock.right']])
})

test('a machine that slept is not taken for a Postgres that jumped', () => {
  const { at, clock, poll } = aWorld()
  poll()
  // The monotonic clock stood still.
  at.ownMs += 3_600_000
  at.storeMs += 3_600_000
  poll()
  expect([clock.now(), clock.isOff]).toEqual([at.ownMs, false])
})
