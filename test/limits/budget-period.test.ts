import { expect, test } from 'vitest'
import { amountAt, budgetPeriodOf, type Limit } from '../../src/limits/limit.ts'

test.each([
  ['day', '2028-02-29', '2028-02-29', '2028-02-29'],
  ['week', '2026-11-22', '2026-11-16', '2026-11-22'],
  ['week', '2026-11-23', '2026-11-23', '2026-11-29'],
  ['week', '2027-01-01', '2026-12-28', '2027-01-03'],
  ['month', '2028-02-29', '2028-02-01', '2028-02-29'],
  ['month', '2026-12-31', '2026-12-01', '2026-12-31'],
  ['month', '2027-01-31', '2027-01-01', '2027-01-31'],
] as const)('the %s of %s begins on %s and ends with %s', (per, day, fromDay, toDay) => {
  expect(budgetPeriodOf(per, null, day)).toEqual({ fromDay, toDay })
})

test('a budget for all time has no last day', () => {
  expect(budgetPeriodOf('total', '2026-11-20', '2026-11-22')).toEqual({ fromDay: '2026-11-20', toDay: null })
})

test('a raise holds until its end, and never lowers', () => {
  const limit: Limit = {
    id: '1',
    clientId: 'c',
    groupId: null,
    axis: null,
    value: null,
    keyId: null,
    formerKeys: [],
    model: null,
    kind: 'requests',
    amount: 10n,
    raise: { amount: 20n, untilMs: 1_000 },
    per: null,
    isSoft: false,
    since: null,
    countsCached: true,
    allowsUnpriced: false,
    whenAlone: 'refuse',
  }
  expect(amountAt(limit, 999)).toBe(20n)
  expect(amountAt(limit, 1_000)).toBe(10n)
  expect(amountAt({ ...limit, raise: { amount: 5n, untilMs: 1_000 } }, 0)).toBe(10n)
})
