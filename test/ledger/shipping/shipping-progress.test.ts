import { describe, expect, test } from 'vitest'
import { ShippingProgress } from '../../../src/ledger/shipping/shipping-progress.ts'

/** A journal of 100 records of 10 bytes. */
const JOURNAL = { prunedTo: 0, synced: 100, bytesTotalAt: (sequence: number) => sequence * 10 }

function sentTo(sequence: number, committedOffset = 0): ShippingProgress {
  const progress = new ShippingProgress(JOURNAL, committedOffset)
  for (let next = committedOffset + 1; next <= sequence; next++)
    progress.addSent(next, next * 10, `${next}-0`)
  return progress
}

test('a new progress has sent and committed what Postgres has', () => {
  const progress = new ShippingProgress(JOURNAL, 7)
  expect(progress).toMatchObject({ committedOffset: 7, sent: 7, committedBytes: 70, windowBytes: 0 })
  expect(progress.offsets()).toEqual({
    prunedTo: 0,
    synced: 100,
    sent: 7,
    committedOffset: 7,
    hintedOffset: 0,
  })
})

test('what is acknowledged moves forward only: an entry that is sent again is not a new one', () => {
  const progress = new ShippingProgress(JOURNAL, 0)
  expect(progress.addSent(1, 10, '1-0')).toBe(true)
  expect(progress.addSent(2, 20, '2-0')).toBe(true)
  expect(progress.addSent(1, 10, '3-0')).toBe(false)
  expect(progress).toMatchObject({ sent: 2, windowBytes: 20 })
})

describe('a committed offset that is read', () => {
  test('unchanged changes nothing', () => {
    const progress = sentTo(5)
    expect(progress.setCommittedOffset(0)).toBe('unchanged')
    expect(progress).toMatchObject({ sent: 5, windowBytes: 50 })
  })

  test('higher empties the window and drops the ids that are no longer needed', () => {
    const progress = sentTo(5)
    expect(progress.setCommittedOffset(3)).toBe('advanced')
    expect(progress).toMatchObject({ sent: 5, committedOffset: 3, committedBytes: 30, windowBytes: 20 })
    expect(progress.sentIds.find(4)).toEqual({ sequence: 4, id: '4-0' })
    expect(progress.sentIds.find(3)?.sequence).toBe(4)
  })

  test('above what was sent means that another process shipped it', () => {
    const progress = sentTo(5)
    expect(progress.setCommittedOffset(9)).toBe('advanced')
    expect(progress.sent).toBe(9)
  })

  test('lower sends everything after it again, from the next batch on', () => {
    const progress = sentTo(8, 5)
    expect(progress.setCommittedOffset(2)).toBe('regressed')
    expect(progress).toMatchObject({ committedOffset: 2, sent: 8 })
    progress.rewind()
    expect(progress).toMatchObject({ sent: 2, windowBytes: 0 })
    expect(progress.sentIds.find(8)).toBeNull()
  })
})

describe('a rewind', () => {
  test('goes to the lowest of several, and never below what is committed', () => {
    const progress = sentTo(9)
    progress.sendAgainFrom(6)
    progress.sendAgainFrom(3)
    progress.sendAgainFrom(7)
    progress.setCommittedOffset(4)
    progress.rewind()
    expect(progress.sent).toBe(4)
  })

  test('happens once', () => {
    const progress = sentTo(9)
    progress.sendAgainFrom(3)
    progress.rewind()
    progress.addSent(4, 40, '4-1')
    progress.rewind()
    expect(progress.sent).toBe(4)
  })
})

test('a hint opens the window and moves nothing else; one beyond what was sent is not believed', () => {
  const progress = sentTo(8)
  progress.setHint(9)
  expect(progress.windowBytes).toBe(80)
  progress.setHint(5)
  expect(progress).toMatchObject({ committedOffset: 0, sent: 8, windowBytes: 30 })
  progress.setHint(2)
  expect(progress.windowBytes).toBe(30)
  progress.sendAgainFrom(0)
  progress.rewind()
  expect(progress.offsets().hintedOffset).toBe(0)
})
