import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Summaries, TookTooLong } from '../../src/gateway/routes/usage.ts'
import { DeadlineError } from '../../src/lib/deadline.ts'

const LIMIT_MS = 200

/** `endOne` ends the oldest answer under way. */
function summaries(ping: () => Promise<unknown> = async () => {}) {
  const running: string[] = []
  const ends: (() => void)[] = []
  const made = new Summaries({ ping, limitMs: LIMIT_MS })
  const ask = (id: string) =>
    made.answer(id, async () => {
      running.push(id)
      await new Promise<void>((resolve) => ends.push(resolve))
      running.splice(running.indexOf(id), 1)
      return {}
    })
  return { ask, running, endOne: () => ends.shift()?.() }
}

const outcomeOf = (answer: Promise<object>) =>
  answer.then(
    () => 'answered',
    (error: unknown) => error,
  )

test('a client that asks much at once waits for itself, and keeps no other client waiting', async () => {
  const { ask, running, endOne } = summaries()
  const burst = Array.from({ length: 20 }, () => outcomeOf(ask('noisy')))
  const quiet = outcomeOf(ask('quiet'))
  await delay(0)
  expect(running).toEqual(['noisy', 'noisy', 'quiet'])
  endOne()
  await delay(0)
  expect(running).toEqual(['noisy', 'quiet', 'noisy'])
  endOne()
  endOne()
  expect(await quiet).toBe('answered')
  await delay(LIMIT_MS + 50)
  // Those whose time is over are not begun any more.
  while (running.length > 0) {
    endOne()
    await delay(0)
  }
  const ended = await Promise.all(burst)
  expect(ended.filter((it) => it === 'answered')).toHaveLength(2)
  expect(ended.filter((it) => it instanceof TookTooLong)).toHaveLength(18)
  // And the client is served again.
  const later = outcomeOf(ask('noisy'))
  await delay(0)
  endOne()
  expect(await later).toBe('answered')
})

test('an answer that is not there in time took too long where the store answers, and else the store is away', async () => {
  expect(await outcomeOf(summaries().ask('a'))).toBeInstanceOf(TookTooLong)
  const refusing = summaries(() => Promise.reject(new Error('connection refused')))
  expect(await outcomeOf(refusing.ask('a'))).toBeInstanceOf(DeadlineError)
  // All connections are in use: the pool's own words for it.
  const full = new Summaries({ ping: async () => {}, limitMs: LIMIT_MS })
  const refused = () => Promise.reject(new Error('timeout exceeded when trying to connect'))
  expect(await outcomeOf(full.answer('a', refused))).toBeInstanceOf(TookTooLong)
  const silent = summaries(() => new Promise(() => {}))
  expect(await outcomeOf(silent.ask('a'))).toBeInstanceOf(DeadlineError)
})
