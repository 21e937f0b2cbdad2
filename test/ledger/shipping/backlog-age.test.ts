// @seconds: a backlog of a day.
import { expect, test } from 'vitest'
import { BacklogAge } from '../../../src/ledger/shipping/producer.ts'

test('the backlog is as old as its oldest record, to a second', () => {
  const age = new BacklogAge(0)
  age.sample(1_000, 10, 10)
  expect(age.ageMs(1_500, 10)).toBe(0)
  age.sample(2_000, 20, 10)
  age.sample(3_000, 30, 10)
  expect(age.ageMs(3_500, 10)).toBe(2_500)
  expect(age.ageMs(3_500, 20)).toBe(1_500)
  expect(age.ageMs(3_500, 30)).toBe(0)
})

test('a committed offset that regresses makes a backlog again', () => {
  const age = new BacklogAge(0)
  age.sample(1_000, 30, 30)
  age.sample(2_000, 30, 5)
  expect(age.ageMs(2_500, 5)).toBe(1_500)
})

test('a backlog of a day is remembered in little memory and reported to within minutes', () => {
  const age = new BacklogAge(0)
  for (let second = 1; second <= 86_400; second++) age.sample(second * 1_000, second * 100, 0)
  expect(age.ageMs(86_400_000, 0)).toBe(86_400_000)
  const halfway = age.ageMs(86_400_000, 4_320_000)
  expect(Math.abs(halfway - 43_200_000)).toBeLessThan(5 * 60_000)
})
