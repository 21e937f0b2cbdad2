import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  countedTo,
  type OffsetReading,
  prunableUpTo,
  READINGS,
  withReading,
} from '../../../src/ledger/shipping/committed-offset-reader.ts'

const KEEP_MS = 300_000

/** The rule itself, over every reading there ever was. */
function prunableByRule(readings: readonly OffsetReading[]): number {
  const latest = readings.at(-1)
  if (latest === undefined) return 0
  const old = readings.findLastIndex(({ atMs }) => atMs <= latest.atMs - KEEP_MS)
  return old === -1 ? 0 : Math.min(...readings.slice(old).map(({ committedOffset }) => committedOffset))
}

function follow(readings: readonly OffsetReading[]): { history: readonly OffsetReading[]; upTo: number } {
  let history: readonly OffsetReading[] = []
  for (const reading of readings) history = withReading(history, reading, KEEP_MS)
  const latest = readings.at(-1)
  return { history, upTo: latest === undefined ? 0 : prunableUpTo(history, latest, KEEP_MS) }
}

describe('a record is pruned', () => {
  test('a record is pruned when it was committed for the whole retention time, and not before', () => {
    const first = { atMs: 1_000, committedOffset: 50 }
    expect(follow([first, { atMs: 1_000 + KEEP_MS - 1, committedOffset: 90 }]).upTo).toBe(0)
    expect(follow([first, { atMs: 1_000 + KEEP_MS, committedOffset: 90 }]).upTo).toBe(50)
  })

  test('a record is not pruned when Postgres regressed behind it meanwhile, though it caught up again', () => {
    const readings = [
      { atMs: 0, committedOffset: 100 },
      { atMs: 150_000, committedOffset: 40 },
      { atMs: 170_000, committedOffset: 100 },
      { atMs: 300_000, committedOffset: 100 },
    ]
    expect(follow(readings).upTo).toBe(0)
    expect(follow([...readings, { atMs: 450_000, committedOffset: 100 }]).upTo).toBe(40)
    expect(follow([...readings, { atMs: 470_000, committedOffset: 100 }]).upTo).toBe(100)
  })

  test('a record is never pruned before the rule allows it, however committed offsets jump', () => {
    const step = fc.record({
      afterMs: fc.integer({ min: 1, max: 40_000 }),
      committedOffset: fc.nat({ max: 30 }),
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let atMs = 0
        const readings = steps.map(({ afterMs, committedOffset }) => {
          atMs += afterMs
          return { atMs, committedOffset }
        })
        expect(follow(readings).upTo).toBeLessThanOrEqual(prunableByRule(readings))
      }),
      { seed: 20_261_126 },
    )
  })
})

test('what must be remembered of committed offsets stays small, however often they are read', () => {
  const readings = Array.from({ length: 10_000 }, (_, second) => ({
    atMs: second * 1_000,
    committedOffset: second,
  }))
  const { history, upTo } = follow(readings)
  expect(history.length).toBeLessThanOrEqual(READINGS + 2)
  expect(upTo).toBeGreaterThanOrEqual(9_999 - 300 - 300 / READINGS - 1)
})

test('a record in a gap that this journal can fill is not counted, nor is what comes after it kept for less', () => {
  expect(countedTo(40, [])).toBe(40)
  expect(countedTo(40, [{ from: 11 }, { from: 31 }])).toBe(10)
})

test('what filled a gap is kept for the whole time from when it was filled', () => {
  const passed = { atMs: 0, committedOffset: countedTo(40, [{ from: 11 }]) }
  const filled = { atMs: KEEP_MS, committedOffset: countedTo(40, []) }
  expect(follow([passed, filled]).upTo).toBe(10)
  expect(follow([passed, filled, { atMs: 2 * KEEP_MS, committedOffset: 40 }]).upTo).toBe(40)
})
