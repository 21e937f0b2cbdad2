import { expect, test, vi } from 'vitest'
import { createTriedCount } from '../../workers/tried-limits.ts'

test('tried limits are counted for at most a tenth of the time, also where a count fails', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let counts = 0
  const count = createTriedCount(async () => {
    counts += 1
    vi.advanceTimersByTime(1_000)
    if (counts === 2) throw new Error('statement timeout')
  })
  try {
    for (const [waitMs, counted] of [
      [0, 1],
      [8_999, 1],
      [1, 2],
      [8_999, 2],
      [1, 3],
    ] as const) {
      vi.advanceTimersByTime(waitMs)
      await count().catch(() => null)
      expect(counts).toBe(counted)
    }
  } finally {
    vi.useRealTimers()
  }
})

test('a count that takes longer than a minute has no other beside it', async () => {
  const under = Promise.withResolvers<void>()
  const counting = vi.fn(() => under.promise)
  const count = createTriedCount(counting)
  const counts = [count(), count()]
  expect(counting).toHaveBeenCalledTimes(1)
  under.resolve()
  await Promise.all(counts)
})
