import { expect, test } from 'vitest'
import { isExact, planCall } from '../../bench/soak/plan.ts'
import { fitLine, growsTooFast, lastTwoThirds, limitOf, type Sample } from '../../bench/soak/slope.ts'

const EVERY_HOURS = 1 / 120

function samplesOf(value: (at: number) => number): readonly Sample[] {
  return Array.from({ length: 80 }, (_, at) => ({ atHours: at * EVERY_HOURS, value: value(at) }))
}

test('a straight line is found with its slope an hour, and no error', () => {
  const line = fitLine(samplesOf((at) => 200 + at))
  expect(line?.perHour).toBeCloseTo(120)
  expect(line?.mean).toBeCloseTo(239.5)
  expect(line?.error).toBeCloseTo(0)
  expect(fitLine([{ atHours: 0, value: 1 }])).toBeNull()
})

test('a leak under scatter is found, and scatter alone is none', () => {
  const bound = { absolute: 20, share: 0.05 }
  const scatter = (at: number) => 15 * Math.sin(at * at)
  const leak = fitLine(samplesOf((at) => 200 + scatter(at) + 60 * at * EVERY_HOURS))
  const none = fitLine(samplesOf((at) => 200 + scatter(at)))
  if (leak === null || none === null) throw new Error('no line')
  expect(growsTooFast(leak, bound)).toBe(true)
  expect(growsTooFast(none, bound)).toBe(false)
  expect(limitOf(bound, leak)).toBe(20)
  expect(limitOf({ absolute: 5, share: 0.1 }, leak)).toBeCloseTo(leak.mean / 10)
})

test('a third of the samples is not judged', () => {
  expect(lastTwoThirds([1, 2, 3, 4, 5, 6, 7])).toEqual([3, 4, 5, 6, 7])
})

test('every kind of call is made, and each number goes the same way each time', () => {
  const plans = Array.from({ length: 20_000 }, (_, number) => planCall(number))
  expect(new Set(plans.map(({ kind }) => kind)).size).toBe(8)
  expect(new Set(plans.map(({ client, key }) => `${client} ${key}`)).size).toBe(300)
  const json = plans.filter(({ kind }) => kind === 'json').length
  expect(json / plans.length).toBeCloseTo(0.78, 1)
  expect(plans.filter((plan) => !isExact(plan)).length).toBeLessThan(2_000)
  expect(planCall(4711)).toEqual(planCall(4711))
})
