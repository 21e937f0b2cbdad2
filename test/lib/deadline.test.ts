import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { DeadlineError, settledWithin, unlessAborted, withinDeadline } from '../../src/lib/deadline.ts'

const NEVER = new Promise<never>(() => {})

describe('work with a deadline', () => {
  test('is what it comes to in time, an error too', async () => {
    expect(await withinDeadline(delay(1, 'done'), 1_000)).toBe('done')
    await expect(withinDeadline(Promise.reject(new Error('refused')), 1_000)).rejects.toThrow('refused')
  })

  test('rejects with an error of its own kind when the time is over', async () => {
    await expect(withinDeadline(NEVER, 5)).rejects.toThrow(new DeadlineError('no answer in 5 ms'))
    await expect(withinDeadline(NEVER, 5, 'Redis is not reachable')).rejects.toThrow(
      new DeadlineError('Redis is not reachable'),
    )
  })

  test('has ended in time where its answer waits while the process is kept from running', async () => {
    const echo = spawn('cat')
    try {
      const began = once(echo.stdout, 'data')
      echo.stdin.write('begin')
      await began
      const answered = once(echo.stdout, 'data').then(String)
      echo.stdin.write('answer')
      const answer = withinDeadline(answered, 50)
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000)
      expect(await answer).toBe('answer')
    } finally {
      echo.kill()
    }
  })

  test('that fails after its deadline does not end the process', async () => {
    const { promise, reject } = Promise.withResolvers<never>()
    await expect(withinDeadline(promise, 1)).rejects.toThrow(DeadlineError)
    reject(new Error('late'))
    await delay(20) // An unhandled rejection would fail this test.
  })
})

test('the end of work is awaited, however it ends, and not for longer than asked', async () => {
  await settledWithin(Promise.reject(new Error('refused')), 1_000)
  const begunMs = performance.now()
  await settledWithin(NEVER, 20)
  expect(performance.now() - begunMs).toBeGreaterThanOrEqual(19)
})

test('work is given up once its signal is aborted, also when that was before', async () => {
  const stop = new AbortController()
  const waiting = unlessAborted(NEVER, stop.signal)
  stop.abort(new Error('the gateway ends'))
  await expect(waiting).rejects.toThrow('the gateway ends')
  await expect(unlessAborted(NEVER, stop.signal)).rejects.toThrow('the gateway ends')
})
