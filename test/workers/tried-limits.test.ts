import { expect, test, vi } from 'vitest'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { createTriedCount } from '../../workers/tried-limits.ts'

test('tried limits are counted for at most a tenth of the time', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let counts = 0
  const query = async () => {
    counts += 1
    vi.advanceTimersByTime(1_000)
    return { rows: [] }
  }
  const count = createTriedCount({ query } as unknown as Postgres, () => 0)
  try {
    for (const [waitMs, counted] of [
      [0, 1],
      [8_999, 1],
      [1, 2],
    ] as const) {
      vi.advanceTimersByTime(waitMs)
      await count()
      expect(counts).toBe(counted)
    }
  } finally {
    vi.useRealTimers()
  }
})
