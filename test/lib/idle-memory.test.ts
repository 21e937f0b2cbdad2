// @alone: V8's flags are the process's
import { setTimeout as delay } from 'node:timers/promises'
import { cachedDataVersionTag } from 'node:v8'
import { expect, test } from 'vitest'
import { releaseMemoryWhenIdle } from '../../src/lib/idle-memory.ts'
import { until } from '../../src/lib/repeat.ts'
import { patienceMs } from '../support/patience.ts'

/** Fills the heap with objects that are not used any more. */
function leaveGarbage(): number {
  let objects: object[] = Array.from({ length: 400_000 }, (_, number) => ({ number, list: [number] }))
  const heldBytes = process.memoryUsage().heapTotal
  objects = []
  expect(objects).toEqual([])
  return heldBytes
}

const gaveBack = (bytes: number) => process.memoryUsage().heapTotal < bytes - 20e6

test('a process that did nothing for a while gives back what it does not use', async () => {
  const heldBytes = leaveGarbage()
  const flags = cachedDataVersionTag()
  const release = releaseMemoryWhenIdle(() => ({ underWay: 0, done: 7 }), { idleMs: 20 })
  expect(await until(() => gaveBack(heldBytes) || null, { timeoutMs: patienceMs() })).toBe(true)
  await delay(200) // V8 may have given it back by itself, before.
  release.stop()
  // Otherwise nothing that Node kept compiled would be taken any more.
  expect(cachedDataVersionTag()).toBe(flags)
})

test('one that works, or has work under way, is left alone', async () => {
  const heldBytes = leaveGarbage()
  let done = 0
  const times = { idleMs: 5, idleAfterWorkMs: 5 }
  const working = releaseMemoryWhenIdle(() => ({ underWay: 0, done: done++ }), times)
  const waiting = releaseMemoryWhenIdle(() => ({ underWay: 1, done: 0 }), times)
  await until(() => done > 20 || null, { timeoutMs: patienceMs() })
  expect(gaveBack(heldBytes)).toBe(false)
  working.stop()
  waiting.stop()
})

test('one that worked is idle only after a longer pause', async () => {
  let done = 0
  let collectedAtMs = 0
  const release = releaseMemoryWhenIdle(() => ({ underWay: 0, done }), {
    idleMs: 20,
    idleAfterWorkMs: 500,
    collect: () => {
      collectedAtMs ||= performance.now()
    },
  })
  done = 1
  const workedMs = performance.now()
  expect(await until(() => collectedAtMs > 0 || null, { timeoutMs: patienceMs() })).toBe(true)
  expect(collectedAtMs - workedMs).toBeGreaterThan(490)
  release.stop()
})

test('it happens seldom: each time everything stands still', async () => {
  leaveGarbage()
  const release = releaseMemoryWhenIdle(() => ({ underWay: 0, done: 0 }), { idleMs: 5, againMs: 60_000 })
  await delay(100)
  const heldBytes = leaveGarbage()
  await delay(100)
  expect(gaveBack(heldBytes)).toBe(false)
  release.stop()
})

test('what bursts left is given back while a few tasks go on: once for each burst', async () => {
  let underWay = 200
  let done = 0
  const collected: string[] = []
  const release = releaseMemoryWhenIdle(() => ({ underWay, done: done++ }), {
    idleMs: 5,
    afterBurstMs: 100,
    collect: (flavor) => collected.push(flavor),
  })
  await until(() => done > 20 || null, { timeoutMs: patienceMs() })
  expect(collected).toEqual([])
  underWay = 3
  await until(() => collected.length > 0 || null, { timeoutMs: patienceMs() })
  const doneThen = done
  await until(() => done > doneThen + 40 || null, { timeoutMs: patienceMs() })
  expect(collected).toEqual(['last-resort'])
  release.stop()
})
