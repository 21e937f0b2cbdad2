import { describe, expect, onTestFinished, test } from 'vitest'
import type { SequenceRange } from '../../../src/domain/sequence-range.ts'
import { CommittedOffsetReader } from '../../../src/ledger/shipping/committed-offset-reader.ts'
import { Producer } from '../../../src/ledger/shipping/producer.ts'
import type { StreamLink } from '../../../src/ledger/shipping/stream/stream-link.ts'
import { STREAM, testJournal } from '../support/journals.ts'

const ID = 'a'.repeat(32)
const KEEP_MS = 1_000

/** A producer of calls 1, 2, 3, ... beside stand-ins for Redis, Postgres and the clock. */
function testProducer() {
  const { journal, open, close, log } = testJournal()
  const stream: { readonly id: string; readonly sequence: number }[] = []
  const site = {
    stream,
    nowMs: 0,
    committedOffset: 0,
    gaps: [] as SequenceRange[],
    /** How long Postgres takes to say which gaps there are. */
    gapsTakeMs: 0,
    /** Awaited before Redis takes a batch; one that rejects has it refused. */
    beforeAppend: async (): Promise<void> => {},
  }
  let ids = 0
  const link: StreamLink = {
    connected: true,
    append: async (_stream, _producer, rows) => {
      await site.beforeAppend()
      const added = rows.map(({ sequence }) => ({ id: `${++ids}-0`, sequence }))
      stream.push(...added)
      return added.map(({ id }) => id)
    },
    isCrowded: () => false,
    areThere: async (_stream, _producer, entries) =>
      entries.map((entry) => stream.some(({ id }) => id === entry.id)),
    readHint: async () => 0,
  }
  const database = {
    readCommittedOffsets: async () => new Map([[ID, site.committedOffset]]),
    readGaps: async () => {
      site.nowMs += site.gapsTakeMs
      return site.gaps
    },
  }
  const offsets: CommittedOffsetReader = new CommittedOffsetReader({ database, producers: () => [producer] })
  const producer = new Producer({
    id: ID,
    stream: STREAM,
    journal,
    committedOffset: 0,
    keepMs: KEEP_MS,
    link,
    offsets,
    database,
    log,
    now: () => site.nowMs,
  })
  onTestFinished(() => producer.stop())
  return Object.assign(site, {
    producer,
    journal,
    readOffset: () => offsets.readAll(),
    sequences: () => stream.map(({ sequence }) => sequence),
    async makeCalls(from: number, to: number) {
      for (let number = from; number <= to; number++) {
        await open(number)
        await close(number)
      }
      await journal.flush()
    },
    /** Postgres has all records up to `sequence`, which leave the stream. */
    async commit(sequence: number) {
      site.committedOffset = sequence
      stream.splice(0, stream.length, ...stream.filter((entry) => entry.sequence > sequence))
      await offsets.readAll()
    },
  })
}

describe('what is not on the stream', () => {
  test('what the stream has lost is sent again, in order, and nothing that is in the totals', async () => {
    const site = testProducer()
    site.producer.startShipping()
    await site.makeCalls(1, 5)
    await expect.poll(site.sequences).toEqual([1, 2, 3, 4, 5])
    await site.commit(2)
    site.stream.length = 0
    site.producer.checkForLossSoon()
    await expect.poll(site.sequences).toEqual([3, 4, 5])
    await site.makeCalls(6, 6)
    await expect.poll(site.sequences).toEqual([3, 4, 5, 6])
  })

  test('what a restored Postgres lacks is sent again behind the batch that is on its way', async () => {
    const site = testProducer()
    site.producer.startShipping()
    await site.makeCalls(1, 3)
    await expect.poll(site.sequences).toEqual([1, 2, 3])
    await site.commit(3)
    const taken = Promise.withResolvers<void>()
    let isOnItsWay = false
    site.beforeAppend = async () => {
      isOnItsWay = true
      await taken.promise
    }
    await site.makeCalls(4, 4)
    await expect.poll(() => isOnItsWay).toBe(true)
    await site.commit(1)
    taken.resolve()
    await expect.poll(site.sequences).toEqual([4, 2, 3, 4])
  })

  test('records of a gap are sent again until Redis has all of them, in batches as small as it takes', async () => {
    const site = testProducer()
    await site.makeCalls(1, 30)
    await site.commit(30)
    site.producer.startShipping()
    let refusals = 0
    site.beforeAppend = async () => {
      refusals += 1
      if (refusals <= 6) throw new Error('no clear answer')
    }
    site.gaps = [{ from: 2, to: 24 }]
    await site.producer.prune()
    await expect.poll(site.sequences).toEqual(Array.from({ length: 23 }, (_, index) => index + 2))
  })
})

describe('a record is kept', () => {
  test('a record is kept for the whole time again after Postgres regressed behind it, however short that was', async () => {
    const site = testProducer()
    await site.makeCalls(1, 4)
    await site.commit(4)
    await site.producer.prune()
    site.nowMs = 500
    await site.commit(2)
    site.nowMs = 600
    await site.commit(4)
    site.nowMs = KEEP_MS
    await site.producer.prune()
    expect(site.journal.prunedTo).toBe(0)
    site.nowMs = 500 + KEEP_MS
    await site.producer.prune()
    expect(site.journal.prunedTo).toBe(2)
    site.nowMs = 2 * KEEP_MS
    await site.producer.prune()
    expect(site.journal.prunedTo).toBe(4)
  })

  test('a record is kept no shorter because Postgres answers late', async () => {
    const site = testProducer()
    await site.makeCalls(1, 2)
    await site.commit(2)
    site.gapsTakeMs = 400
    await site.producer.prune()
    site.nowMs = KEEP_MS
    await site.producer.prune()
    expect(site.journal.prunedTo).toBe(0)
    site.nowMs = KEEP_MS + 400
    await site.producer.prune()
    expect(site.journal.prunedTo).toBe(2)
  })

  test('a record that fills a gap is kept for the whole time from then on', async () => {
    const site = testProducer()
    await site.makeCalls(1, 4)
    await site.commit(4)
    site.gaps = [{ from: 2, to: 3 }]
    await site.producer.prune()
    site.nowMs = 500
    site.gaps = []
    await site.producer.prune()
    site.nowMs = KEEP_MS
    await site.producer.prune()
    expect(site.journal.prunedTo).toBe(1)
    site.nowMs = 500 + KEEP_MS
    await site.producer.prune()
    expect(site.journal.prunedTo).toBe(4)
  })
})

test('a producer may rest once all of its records are in the totals, and none is to fill a gap', async () => {
  const site = testProducer()
  await site.makeCalls(1, 3)
  await site.commit(2)
  expect(await site.producer.readingsIfCounted()).toBeNull()
  await site.commit(3)
  site.gaps = [{ from: 2, to: 2 }]
  expect(await site.producer.readingsIfCounted()).toBeNull()
  site.gaps = []
  expect(await site.producer.readingsIfCounted()).toEqual([{ atMs: 0, committedOffset: 3 }])
})

test('a producer is not empty while Postgres lacks what its journal has deleted', async () => {
  const site = testProducer()
  await site.makeCalls(1, 3)
  await site.commit(3)
  await site.producer.prune()
  site.nowMs = KEEP_MS
  await site.producer.prune()
  expect(site.producer.isEmpty).toBe(true)
  await site.commit(1)
  expect(site.producer.isEmpty).toBe(false)
})
