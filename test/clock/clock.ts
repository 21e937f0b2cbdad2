import { afterAll, vi } from 'vitest'
import { type UtcDay, utcDayOf } from '../../src/domain/utc-day.ts'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { StoreClock } from '../../src/store/processes/store-clock.ts'

/** Goes by `Date`, whatever Postgres says: for a gateway in a process whose `Date` a test holds. */
export function clockOfDate(): StoreClock {
  const clock = new StoreClock({ log: SILENT_LOG })
  return Object.assign(clock, { learn: () => {} })
}

/** How far the run's clock was moved (shift-clock.mjs), for what is not a Node process; 0: not at all. */
export const CLOCK_OFFSET_MS = Number(process.env.TEST_CLOCK_OFFSET_MS ?? 0)

/** What a child needs in its environment to have the clock of this run, where it gets no environment else. */
export function clockEnvironment(): Readonly<Record<string, string>> {
  const { NODE_OPTIONS, TEST_CLOCK_OFFSET_MS } = process.env
  return CLOCK_OFFSET_MS === 0
    ? {}
    : { NODE_OPTIONS: NODE_OPTIONS ?? '', TEST_CLOCK_OFFSET_MS: TEST_CLOCK_OFFSET_MS ?? '' }
}

/**
 * Holds `Date` at noon of the UTC day on which the test file began, to its end. What the file calls today
 * stays today, and so does an hour or a minute ago. Timers go on. For files whose code under test reads
 * `Date` at each use.
 *
 * @returns that day
 */
export function holdClockAtNoon(): UtcDay {
  const day = utcDayOf(Date.now())
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(`${day}T12:00:00Z`) })
  afterAll(() => {
    vi.useRealTimers()
  })
  return day
}
