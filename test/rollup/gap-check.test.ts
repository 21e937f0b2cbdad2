import { expect, test } from 'vitest'
import { createGapCheck, gapsBetween, type Waiting } from '../../src/rollup/drain/gap-check.ts'

const waiting = (committedOffset: number, ...sequences: number[]): ReadonlyMap<string, Waiting> =>
  new Map([
    ['p', { committedOffset, entries: sequences.map((sequence) => ({ from: sequence, to: sequence })) }],
  ])

test('a gap is given up when the committed offset has stood before it for the whole patience, not sooner', () => {
  let now = 0
  const watch = createGapCheck({ patienceMs: 1_000, now: () => now })
  expect(watch.observe('s', waiting(4, 7)).size).toBe(0)
  now = 999
  expect(watch.observe('s', waiting(4, 7)).size).toBe(0)
  now = 1_000
  expect(watch.observe('s', waiting(4, 7, 9))).toEqual(
    new Map([
      [
        'p',
        [
          { from: 5, to: 6 },
          { from: 8, to: 8 },
        ],
      ],
    ]),
  )
})

test('a committed offset that moves, or entries that are gone, restart the wait', () => {
  let now = 0
  const watch = createGapCheck({ patienceMs: 1_000, now: () => now })
  watch.observe('s', waiting(4, 7))
  now = 900
  watch.observe('s', waiting(5, 7))
  now = 1_800
  expect(watch.observe('s', waiting(5, 7)).size).toBe(0)
  watch.observe('s', new Map())
  now = 3_000
  expect(watch.observe('s', waiting(5, 7)).size).toBe(0)
})

test('gaps are what lies between the committed offset and the last entry and no entry covers', () => {
  const ranges = [
    { from: 9, to: 9 },
    { from: 3, to: 5 },
    { from: 9, to: 9 },
  ]
  expect(gapsBetween(2, ranges)).toEqual([{ from: 6, to: 8 }])
  expect(gapsBetween(0, ranges)).toEqual([
    { from: 1, to: 2 },
    { from: 6, to: 8 },
  ])
})
