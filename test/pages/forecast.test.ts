import { expect, test } from 'vitest'
import { type CostOfDay, forecastMonth } from '../../pages/operator/forecast.ts'
import { addDays } from '../../src/domain/utc-day.ts'

/** The days up to this one, the oldest first. */
function daysUpTo(today: string, count: number, usdOf: (day: string) => number): CostOfDay[] {
  return Array.from({ length: count }, (_, index) => addDays(today, index - count + 1)).map((day) => ({
    day,
    usd: usdOf(day),
  }))
}

test('each day that is left adds the mean of its weekday, and today the more of both', () => {
  const isWeekend = (day: string) => [0, 6].includes(new Date(`${day}T00:00:00Z`).getUTCDay())
  const days = daysUpTo('2026-11-26', 90, (day) => (isWeekend(day) ? 1 : 10))
  const found = forecastMonth([...days.slice(0, -1), { day: '2026-11-26', usd: 2 }])
  // 18 weekdays and 7 days of weekends before today; today; a Friday, a weekend, a Monday.
  expect(found).toMatchObject({ spentUsd: 18 * 10 + 7 + 2, fromDays: 28 })
  expect(found?.expectedUsd).toBeCloseTo(18 * 10 + 7 + 10 + 10 + 2 + 10, 9)
  expect([found?.lowUsd, found?.highUsd]).toEqual([found?.expectedUsd, found?.expectedUsd])
  const busy = forecastMonth([...days.slice(0, -1), { day: '2026-11-26', usd: 50 }])
  expect(busy?.expectedUsd).toBeCloseTo(18 * 10 + 7 + 50 + 22, 9)
})

test('days that differ widen the range, which never ends below what is spent', () => {
  const days = daysUpTo('2028-02-10', 60, (day) => (Number(day.slice(8)) % 2 === 0 ? 0 : 20))
  const found = forecastMonth(days)
  expect(found).not.toBeNull()
  if (found === null) return
  expect(found.lowUsd).toBeLessThan(found.expectedUsd)
  expect(found.lowUsd).toBeGreaterThanOrEqual(found.spentUsd)
  expect(found.highUsd - found.expectedUsd).toBeGreaterThan(20)
  // Nineteen days of February 2028 are left after the tenth.
  expect(found.expectedUsd).toBeLessThan(found.spentUsd + 20 + 19 * 20)
})

test('the last day of a month has nothing left, and too little use has no forecast', () => {
  const last = forecastMonth(daysUpTo('2026-12-31', 90, () => 4))
  expect([last?.spentUsd, last?.expectedUsd]).toEqual([124, 124])
  expect(forecastMonth([])).toBeNull()
  expect(forecastMonth(daysUpTo('2026-11-26', 90, () => 0))).toBeNull()
  expect(forecastMonth(daysUpTo('2026-11-26', 90, (day) => (day >= '2026-11-25' ? 5 : 0)))).toBeNull()
  expect(forecastMonth(daysUpTo('2026-11-26', 90, (day) => (day >= '2026-11-20' ? 5 : 0)))?.fromDays).toBe(6)
})
