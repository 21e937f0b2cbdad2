import { expect, test } from 'vitest'
import { CredentialKeeper, type Fetched } from '../../src/lib/credential-keeper.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

interface Attempt {
  resolve(fetched: Fetched<string>): void
  reject(error: Error): void
}

/** A keeper whose clock, timers and endpoint are the test's. */
function keeperOf() {
  const clock = { nowMs: Date.UTC(2026, 1, 28, 23, 50) }
  const attempts: Attempt[] = []
  const changes: (string | null)[] = []
  let waiting: { ms: number; then: () => void } | null = null
  const keeper = new CredentialKeeper<string>({
    fetch: () => new Promise((resolve, reject) => attempts.push({ resolve, reject })),
    onChange: (problem) => changes.push(problem),
    now: () => clock.nowMs,
    later(ms, then) {
      const timer = { ms, then }
      waiting = timer
      return () => {
        if (waiting === timer) waiting = null
      }
    },
  })
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return {
    keeper,
    clock,
    attempts,
    changes,
    waitMs: () => waiting?.ms ?? null,
    async answer(value: string, lifeMs: number | null) {
      attempts.at(-1)?.resolve({ value, endsAtMs: lifeMs === null ? null : clock.nowMs + lifeMs })
      await settled()
    },
    async fail(message: string) {
      attempts.at(-1)?.reject(new Error(message))
      await settled()
    },
    /** The timer's time has come. */
    ring() {
      const timer = waiting
      waiting = null
      clock.nowMs += timer?.ms ?? 0
      timer?.then()
    },
  }
}

test('a credential is fetched at once, and again ahead of its end, while the one before serves', async () => {
  const { keeper, attempts, answer, ring, waitMs, clock } = keeperOf()
  expect(keeper.current()).toBeNull()
  await answer('first', HOUR_MS)
  expect(keeper.usable()).toBe(true)
  expect(waitMs()).toBe(55 * MINUTE_MS)
  ring()
  expect([attempts.length, keeper.current(), keeper.usable()]).toEqual([2, 'first', true])
  await answer('second', HOUR_MS)
  expect([keeper.current(), waitMs()]).toEqual(['second', 55 * MINUTE_MS])
  expect(keeper.state()).toEqual({ endsAtMs: clock.nowMs + HOUR_MS, isUsable: true, problem: null })
})

test('calls that wait for the first credential share one fetch', async () => {
  const { keeper, attempts, answer } = keeperOf()
  const waiting = Array.from({ length: 10 }, () => keeper.usable())
  keeper.renew()
  await answer('first', HOUR_MS)
  expect(await Promise.all(waiting)).toEqual(Array.from({ length: 10 }, () => true))
  expect(attempts).toHaveLength(1)
})

test('while it cannot be renewed it is used until its end, and tried less and less often', async () => {
  const { keeper, attempts, answer, fail, ring, waitMs, clock, changes } = keeperOf()
  await answer('first', HOUR_MS)
  ring()
  const waits: (number | null)[] = []
  for (let attempt = 0; attempt < 8; attempt += 1) {
    await fail('the endpoint answered 500')
    waits.push(waitMs())
    ring()
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 60, 60].map((seconds) => seconds * 1_000))
  expect(keeper.state()).toMatchObject({ isUsable: true, problem: 'the endpoint answered 500' })
  clock.nowMs += 2 * MINUTE_MS
  expect([keeper.current(), keeper.state().isUsable]).toEqual([null, false])
  await fail('the endpoint answered 500')
  // None is being fetched: no call waits, and none makes an attempt of its own.
  expect([keeper.usable(), attempts.length]).toEqual([false, 10])
  ring()
  const waiting = keeper.usable()
  await answer('second', HOUR_MS)
  expect([await waiting, keeper.current()]).toEqual([true, 'second'])
  expect(changes).toEqual(['the endpoint answered 500', null])
})

test('what says no end is read again every five minutes', async () => {
  const { keeper, answer, ring, waitMs } = keeperOf()
  await answer('key', null)
  expect([waitMs(), keeper.state()]).toEqual([
    5 * MINUTE_MS,
    { endsAtMs: null, isUsable: true, problem: null },
  ])
  ring()
  await answer('other key', null)
  expect(keeper.current()).toBe('other key')
})

test('a server that gives the same credential until shortly before its end is not asked without a pause', async () => {
  const { answer, ring, waitMs } = keeperOf()
  await answer('same', MINUTE_MS)
  expect(waitMs()).toBe(48_000)
  ring()
  await answer('same', 1_000)
  expect(waitMs()).toBe(5_000)
})

test('a credential that has ended when it comes is none', async () => {
  const { keeper, answer } = keeperOf()
  await answer('old', -1)
  expect(keeper.state()).toMatchObject({ isUsable: false, problem: expect.stringContaining('clock') })
})

test('once stopped it fetches no more', async () => {
  const { keeper, attempts, answer, waitMs } = keeperOf()
  keeper.stop()
  await answer('late', HOUR_MS)
  keeper.renew()
  expect([waitMs(), attempts.length]).toEqual([null, 1])
})
