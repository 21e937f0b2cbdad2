import fc from 'fast-check'
import { expect, test } from 'vitest'
import { daysIn, isMonthPeriod, parsePeriod, periodBefore, periodOf } from '../../src/domain/period.ts'
import { addDays } from '../../src/domain/utc-day.ts'

const at = (day: string) => Date.parse(`${day}T00:20:00Z`)

test.each([
  ['today', '2028-02-29', '2028-02-29', '2028-02-29'],
  ['yesterday', '2028-03-01', '2028-02-29', '2028-02-29'],
  ['7d', '2026-11-03', '2026-10-28', '2026-11-03'],
  ['90d', '2026-11-26', '2026-08-29', '2026-11-26'],
  ['month', '2026-11-01', '2026-11-01', '2026-11-01'],
  ['month', '2026-11-26', '2026-11-01', '2026-11-26'],
  ['last_month', '2026-03-31', '2026-02-01', '2026-02-28'],
  ['last_month', '2027-01-01', '2026-12-01', '2026-12-31'],
  ['2026-10', '2026-11-26', '2026-10-01', '2026-10-31'],
  ['2026-11', '2026-11-26', '2026-11-01', '2026-11-26'],
  ['2028-02', '2028-03-01', '2028-02-01', '2028-02-29'],
])('%s on %s is %s to %s', (name, today, fromDay, toDay) => {
  expect(parsePeriod(name, at(today))).toEqual({ fromDay, toDay })
})

test.each([
  '2026-12',
  '2026-13',
  '2026-1',
  '8d',
  'week',
  '',
  'Month',
  'month ',
])('%j is not a period', (name) => {
  expect(parsePeriod(name, at('2026-11-26'))).toBeNull()
})

test.each([
  // The month to date stands beside the same days of the month before, and a whole month beside a whole one.
  ['2026-11-01', '2026-11-26', true, '2026-10-01', '2026-10-26'],
  ['2026-11-01', '2026-11-30', true, '2026-10-01', '2026-10-31'],
  ['2026-03-01', '2026-03-30', true, '2026-02-01', '2026-02-28'],
  ['2028-02-01', '2028-02-29', true, '2028-01-01', '2028-01-31'],
  ['2026-11-01', '2026-11-07', false, '2026-10-25', '2026-10-31'],
  ['2026-11-26', '2026-11-26', false, '2026-11-25', '2026-11-25'],
] as const)('before %s to %s (a month: %s) come %s to %s', (fromDay, toDay, isMonth, first, last) => {
  expect(periodBefore({ fromDay, toDay }, isMonth)).toEqual({ fromDay: first, toDay: last })
})

test('a period before ends where the period begins, and has as many days unless it is a month', () => {
  const days = fc.integer({ min: 1, max: 366 })
  const now = fc.integer({ min: at('2020-01-01'), max: at('2035-12-31') })
  fc.assert(
    fc.property(days, now, (length, nowMs) => {
      const period = periodOf(length, nowMs)
      const before = periodBefore(period, false)
      expect([daysIn(before), addDays(before.toDay, 1)]).toEqual([length, period.fromDay])
    }),
    { seed: 20_261_126 },
  )
  expect(['month', 'last_month', '2026-10', '30d', ''].map(isMonthPeriod)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ])
})
