import { expect, test } from 'vitest'
import { failedCalls } from '../../bench/chaos/routed.ts'
import type { CallTrace } from '../../src/standalone/prove/load.ts'

const trace = (changes: Partial<CallTrace>): CallTrace => ({
  number: 1,
  gateway: 'gateway 0',
  answer: 'error',
  status: 502,
  callId: 'id',
  upstream: null,
  attempts: null,
  sawUsage: false,
  beganMs: 10_000,
  endedMs: 11_000,
  ...changes,
})

interface Course {
  readonly sent?: readonly number[]
  /** When Redis was away; `null`: never. */
  readonly wantMs?: number | null
  readonly deathMs?: number
}

const failed = (changes: Partial<CallTrace>, { sent = [1], wantMs = 100, deathMs = 0 }: Course = {}) =>
  failedCalls(
    [trace(changes)],
    deathMs === 0 ? [] : [{ gateway: 'gateway 0', seenMs: deathMs, missedMs: deathMs + 100 }],
    {
      sent: new Set(sent),
      wants: wantMs === null ? [] : [{ fault: 'redis frozen', fromMs: wantMs, toMs: wantMs + 500 }],
    },
  ).length === 1

test('a call by a route has failed where its client got an error, or no answer', () => {
  expect(failed({})).toBe(true)
  expect(failed({ answer: 'cut', status: 0 })).toBe(true)
  expect(failed({ answer: 'whole', status: 200 })).toBe(false)
})

test('a call that was cut behind its first byte, or that its client left, has not failed', () => {
  expect(failed({ answer: 'cut', status: 200 })).toBe(false)
  expect(failed({ answer: 'left', status: 200 })).toBe(false)
})

test('a call has not failed where no gateway was there, or its own ended under it', () => {
  expect(failed({ answer: 'refused', status: 0 })).toBe(false)
  expect(failed({}, { deathMs: 10_500 })).toBe(false)
  expect(failed({}, { deathMs: 20_000 })).toBe(true)
})

test('a call that a gateway refused for want of a store has not failed where nothing of it was sent', () => {
  expect(failed({ status: 503 }, { sent: [] })).toBe(false)
  expect(failed({ status: 429 }, { sent: [] })).toBe(false)
  expect(failed({ status: 503 })).toBe(true)
  expect(failed({ status: 429 })).toBe(true)
  expect(failed({ status: 502 }, { sent: [] })).toBe(true)
})

test('no call may be refused where faults end gateways alone', () => {
  expect(failed({ status: 503 }, { sent: [], wantMs: null })).toBe(true)
})

test('a call for which no further target could be asked, as a store was away, has not failed', () => {
  expect(failed({ status: 504, attempts: 1 }, { wantMs: 10_500 })).toBe(false)
  expect(failed({ status: 504, attempts: 1 }, { wantMs: 2_000 })).toBe(false)
  expect(failed({ status: 504, attempts: 1 }, { wantMs: 11_500 })).toBe(true)
  expect(failed({ status: 504, attempts: 3 }, { wantMs: 10_500 })).toBe(true)
  expect(failed({ status: 504, attempts: 1 }, { wantMs: null })).toBe(true)
})
