import { describe, expect, test } from 'vitest'
import { nextCheckInMs, provenLoss, sequencesToCheck } from '../../../src/ledger/shipping/loss-detector.ts'

test('looked for are the record that the roll-up waits for and the newest', () => {
  expect(sequencesToCheck(7, 7)).toEqual([])
  expect(sequencesToCheck(7, 8)).toEqual([8])
  expect(sequencesToCheck(7, 12)).toEqual([8, 12])
})

describe('loss', () => {
  test('loss is proven by an entry that is gone and not committed: all after the committed offset is sent again', () => {
    expect(provenLoss([{ sequence: 8, present: false }], 7)).toBe(7)
    expect(
      provenLoss(
        [
          { sequence: 8, present: true },
          { sequence: 12, present: false },
        ],
        9,
      ),
    ).toBe(9)
  })

  test('loss is not proven by an entry that left the stream because it was committed', () => {
    expect(provenLoss([{ sequence: 8, present: false }], 8)).toBeNull()
  })

  test('loss is not proven by entries that wait', () => {
    expect(provenLoss([{ sequence: 8, present: true }], 3)).toBeNull()
  })
})

test('a loss that sending again does not repair is checked for less and less often, every 30 s at least', () => {
  expect([0, 1, 2, 5, 1_000].map(nextCheckInMs)).toEqual([1_000, 2_000, 4_000, 30_000, 30_000])
})
