import { describe, expect, test } from 'vitest'
import {
  LossDetector,
  nextCheckInMs,
  provenLoss,
  sequencesToCheck,
} from '../../../src/ledger/shipping/loss-detector.ts'
import { ShippingProgress } from '../../../src/ledger/shipping/shipping-progress.ts'
import type { StreamLink } from '../../../src/ledger/shipping/stream/stream-link.ts'
import { WakeSignal } from '../../../src/ledger/shipping/wake-signal.ts'
import { logLines } from '../support/log-lines.ts'

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

/** A detector of a producer whose only record is on its way, beside stand-ins for Redis, Postgres and the clock. */
function testDetector({ areThere }: Pick<StreamLink, 'areThere'>) {
  const site = { nowMs: 0, committedOffset: 0 }
  const link: StreamLink = {
    connected: true,
    append: async () => [],
    isCrowded: () => false,
    areThere,
    readHint: async () => 0,
  }
  const progress = new ShippingProgress({ prunedTo: 0, synced: 1, bytesTotalAt: () => 0 }, 0)
  const wake = new WakeSignal()
  const log = logLines()
  const detector = new LossDetector({
    producer: 'a',
    stream: 'test:calls',
    progress,
    link,
    offsets: { read: async () => site.committedOffset },
    wake,
    log,
    now: () => site.nowMs,
  })
  detector.sent()
  return Object.assign(site, {
    detector,
    log,
    /** Sends the record, again where it was lost, and lets the next check look for it. */
    async check() {
      progress.rewind()
      progress.addSent(1, 0, '1-0')
      site.nowMs += detector.dueInMs
      wake.reset()
      detector.check()
      await wake.sleep(Number.POSITIVE_INFINITY)
    },
  })
}

test('a stream that loses all that is sent again gets it less and less often, until something of it is counted', async () => {
  const { detector, check } = testDetector({ areThere: async () => [false] })
  await check()
  expect(detector.dueInMs).toBe(nextCheckInMs(1))
  await check()
  expect(detector.dueInMs).toBe(nextCheckInMs(2))
  detector.progressed()
  expect(detector.dueInMs).toBe(nextCheckInMs(0))
  await check()
  expect(detector.dueInMs).toBe(nextCheckInMs(1))
})

test('an entry that is counted while it is looked for is not lost', async () => {
  const site = testDetector({
    areThere: async () => {
      site.committedOffset = 1
      return [false]
    },
  })
  await site.check()
  expect(site.log.lines).toEqual([])
  expect(site.detector.dueInMs).toBe(nextCheckInMs(0))
})
