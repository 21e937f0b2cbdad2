import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Decision, decide, type Gap, type Numbered, PRODUCER_LOST } from '../../src/rollup/contiguous.ts'
import { rounds } from '../support/rounds.ts'

const record = (sequence: number): Numbered => ({ from: sequence, to: sequence, gapReason: null })
const gapMarker = (from: number, to: number): Numbered => ({ from, to, gapReason: 'journal_pruned' })
const gap = (from: number, to: number, id = '1'): Gap => ({
  id,
  from,
  to,
  reason: PRODUCER_LOST,
  recordedAt: new Date(0),
})
const at = (committedOffset: number, gaps: readonly Gap[] = []) => ({ committedOffset, gaps })
const counted = ({ counted: entries }: Decision<Numbered>) => entries.map(({ to }) => to)
const unfilled = ({ newGaps }: Decision<Numbered>) =>
  newGaps.filter(({ filled }) => !filled).map(({ from, to }) => [from, to])
const filled = ({ newGaps }: Decision<Numbered>) =>
  newGaps.filter((row) => row.filled).map(({ from, to }) => [from, to])

test('records that follow the committed offset count in the order of their sequences, however they lie', () => {
  const decision = decide(at(4), [record(7), record(5), record(6)])
  expect(counted(decision)).toEqual([5, 6, 7])
  expect(decision.committedOffset).toBe(7)
})

test('the same record twice counts once', () => {
  expect(counted(decide(at(0), [record(1), record(1), record(2), record(2)]))).toEqual([1, 2])
})

test('a record at or under the committed offset is dropped', () => {
  const decision = decide(at(9), [record(3), record(9)])
  expect(counted(decision)).toEqual([])
  expect(decision.waiting).toEqual([])
})

test('records beyond a gap wait', () => {
  const decision = decide(at(1), [record(4), record(2), record(5)])
  expect(decision.committedOffset).toBe(2)
  expect(decision.waiting).toEqual([record(4), record(5)])
})

test('a gap marker moves the committed offset and leaves a gap of exactly what was not counted', () => {
  const decision = decide(at(5), [gapMarker(3, 9), record(10)])
  expect(unfilled(decision)).toEqual([[6, 9]])
  expect(counted(decision)).toEqual([10])
  expect(decision.committedOffset).toBe(10)
})

test('a gap marker beyond a gap waits, one at or under the committed offset is dropped', () => {
  const decision = decide(at(5), [gapMarker(8, 9), gapMarker(2, 5)])
  expect(decision.waiting).toEqual([gapMarker(8, 9)])
  expect(decision.newGaps).toEqual([])
  expect(decision.committedOffset).toBe(5)
})

test('a record that is there counts although a gap marker beside it says it is not', () => {
  const decision = decide(at(2), [gapMarker(3, 6), record(3), record(6), record(5)])
  expect(counted(decision)).toEqual([3, 5, 6])
  expect(unfilled(decision)).toEqual([[4, 4]])
  expect(decision.committedOffset).toBe(6)
  // What began it was never missing, so it fills nothing.
  expect(filled(decision)).toEqual([[5, 6]])
})

test('a gap is passed over only when it is the one that was given up, and entries stand behind it', () => {
  const given = [{ from: 3, to: 4 }]
  expect(unfilled(decide(at(2), [record(5)], given))).toEqual([[3, 4]])
  expect(counted(decide(at(2), [record(5), record(6)], given))).toEqual([5, 6])
  expect(decide(at(2), [record(5)], [{ from: 2, to: 4 }]).committedOffset).toBe(2)
  expect(decide(at(2), [record(4)], given).waiting).toEqual([record(4)])
  expect(decide(at(2), [], given).committedOffset).toBe(2)
})

test('a gap that began to fill is not passed over', () => {
  const decision = decide(at(2), [record(3), record(5)], [{ from: 3, to: 4 }])
  expect(counted(decision)).toEqual([3])
  expect(decision.waiting).toEqual([record(5)])
})

test('a record that comes late counts once, and its gap shrinks, splits, or goes', () => {
  const middle = decide(at(20, [gap(5, 9)]), [record(7), record(7)])
  expect(counted(middle)).toEqual([7])
  expect(middle.committedOffset).toBe(20)
  expect(middle.replacedGaps).toEqual(['1'])
  expect(unfilled(middle)).toEqual([
    [5, 6],
    [8, 9],
  ])
  expect(filled(middle)).toEqual([[7, 7]])

  const whole = decide(at(20, [gap(5, 6)]), [record(6), record(5)])
  expect(counted(whole)).toEqual([5, 6])
  expect(unfilled(whole)).toEqual([])
  expect(filled(whole)).toEqual([[5, 6]])
})

test('a gap that nothing comes for stays as it is', () => {
  const decision = decide(at(20, [gap(5, 9)]), [record(3), record(21)])
  expect(decision.replacedGaps).toEqual([])
  expect(decision.newGaps).toEqual([])
})

test('whatever comes in whatever batches, each record counts once and gaps hold exactly what is missing', () => {
  const entry = fc.oneof(
    { weight: 5, arbitrary: fc.integer({ min: 1, max: 25 }).map(record) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.integer({ min: 1, max: 25 }), fc.integer({ min: 0, max: 5 }))
        .map(([from, more]) => gapMarker(from, from + more)),
    },
  )
  fc.assert(
    fc.property(fc.array(fc.array(entry, { maxLength: 12 }), { maxLength: 12 }), (batches) => {
      let committedOffset = 0
      let gaps: readonly Gap[] = []
      let nextId = 1
      const seen: number[] = []
      for (const batch of batches) {
        const decision = decide(at(committedOffset, gaps), batch)
        expect(decision.committedOffset).toBeGreaterThanOrEqual(committedOffset)
        committedOffset = decision.committedOffset
        seen.push(...counted(decision))
        gaps = [
          ...gaps.filter(({ id }) => id !== null && !decision.replacedGaps.includes(id)),
          ...decision.newGaps.filter((row) => !row.filled).map((row) => ({ ...row, id: `${nextId++}` })),
        ]
        const missing = gaps.flatMap(({ from, to }) =>
          Array.from({ length: to - from + 1 }, (_, index) => from + index),
        )
        expect([...seen, ...missing].sort((a, b) => a - b)).toEqual(
          Array.from({ length: committedOffset }, (_, index) => index + 1),
        )
      }
    }),
    { numRuns: rounds({ short: 500, long: 2_000 }), seed: 20_261_126 },
  )
})
