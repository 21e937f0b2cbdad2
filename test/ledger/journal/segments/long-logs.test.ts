import { statSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { serialiseRecord } from '../../../../src/ledger/entry.ts'
import { busyness, threadMs } from '../../../support/patience.ts'
import { callId, callRecord } from '../../support/calls.ts'
import { namesIn, testFolder } from '../../support/folders.ts'
import { adoptedJournal, contentsOf, type TestJournal, testJournal } from '../../support/journals.ts'
import { segmentPaths } from '../../support/segments.ts'

const SEGMENT_BYTES = 20_000
const SOON = { interval: 20 }

/** Calls from `from` to `to`, one after the other, each opened and closed, with a sync now and then. */
async function makeCalls({ open, close, journal }: TestJournal, from: number, to: number): Promise<void> {
  for (let number = from; number <= to; number++) {
    expect([await open(number), await close(number)]).toEqual([null, null])
    if (number % 20 === 0) await journal.flush()
  }
}

/**
 * Makes calls until there are more than three segments. How many calls that takes depends on the disk: a segment grows
 * until the next one is ready.
 *
 * @returns The number of the last call, at least 200.
 */
async function fillSegments(log: TestJournal): Promise<number> {
  let last = 200
  await makeCalls(log, 1, last)
  for (; segmentPaths(log.folder).length <= 3; last += 20) await makeCalls(log, last + 1, last + 20)
  return last
}

async function pruneAll({ journal }: TestJournal): Promise<void> {
  await journal.flush()
  while (journal.prune(journal.synced, 500));
}

describe('a long log', () => {
  test('a long log is in segments, read as if it were one', async () => {
    const log = testJournal({ segmentBytes: SEGMENT_BYTES })
    const { journal, folder } = log
    const last = await fillSegments(log)
    expect((await contentsOf(folder)).calls).toEqual(
      Array.from({ length: last }, (_, index) => [index + 1, callId(index + 1)]),
    )
    const sizes: number[] = []
    journal.dropRecent(last)
    for (let after = 0; after < last; ) {
      const rows = journal.read(after, 7, 1e9)
      for (const { sequence, body, bytesTotal } of rows) {
        expect([sequence, body]).toEqual([++after, serialiseRecord(callRecord(after))])
        expect(journal.bytesTotalAt(sequence)).toBe(bytesTotal)
        sizes.push(Buffer.byteLength(body))
      }
    }
    expect(journal.bytesTotal).toBe(sizes.reduce((sum, size) => sum + size, 0))
  })

  test('a long log loses its segments, oldest first, when their records are not needed', async () => {
    const log = testJournal({ segmentBytes: SEGMENT_BYTES })
    const last = await fillSegments(log)
    await pruneAll(log)
    await vi.waitFor(() => expect(segmentPaths(log.folder).length).toBeLessThanOrEqual(2), SOON)
    await makeCalls(log, last + 1, last + 10)
    const { calls } = await contentsOf(log.folder)
    expect(calls.map(([sequence]) => sequence)).toEqual(
      Array.from({ length: 10 }, (_, index) => last + 1 + index),
    )
    const adopter = await adoptedJournal(await stopped(log))
    expect([adopter.last, adopter.prunedTo]).toEqual([last + 10, last])
  })

  test('a long log keeps what it has of a call that stays open, and goes on losing segments', async () => {
    const log = testJournal({ segmentBytes: SEGMENT_BYTES })
    await log.open(9_001)
    await log.open(9_002)
    log.journal.saveSnapshot(callId(9_001), () => '{"n":1}')
    let most = 0
    for (let round = 0; round < 6; round++) {
      await makeCalls(log, round * 100 + 1, round * 100 + 100)
      await pruneAll(log)
      await vi.waitFor(() => expect(segmentPaths(log.folder).length).toBeLessThanOrEqual(6), SOON)
      most = Math.max(most, segmentPaths(log.folder).length)
      const { open, calls } = await contentsOf(log.folder)
      expect([open, calls]).toEqual([[callId(9_001), callId(9_002)], []])
    }
    await log.close(9_001)
    expect(await contentsOf(log.folder)).toMatchObject({
      open: [callId(9_002)],
      calls: [[601, callId(9_001)]],
    })
  })

  test('a long log in which calls are only open and never end does not grow without end', async () => {
    const log = testJournal({ segmentBytes: SEGMENT_BYTES })
    for (let number = 1; number <= 20; number++) await log.open(number)
    for (let round = 0; round < 300; round++) {
      for (let number = 1; number <= 20; number++)
        log.journal.saveSnapshotNow(
          callId(number),
          () => `{"n":${round}}`,
          () => {},
        )
      if (round % 10 === 0) await log.journal.flush()
      await new Promise((resolve) => setImmediate(resolve))
    }
    const bytes = () => segmentPaths(log.folder).reduce((sum, path) => sum + statSync(path).size, 0)
    await vi.waitFor(async () => {
      log.journal.saveSnapshotNow(
        callId(1),
        () => '{"n":299}',
        () => {},
      )
      await log.journal.flush()
      expect(bytes()).toBeLessThan(5 * SEGMENT_BYTES)
    }, SOON)
    const { open, seen } = await contentsOf(log.folder)
    expect(open).toHaveLength(20)
    expect(new Set(seen)).toEqual(new Set(['{"n":299}']))
  })
})

test('calls with long texts are carried forward a few at a time', async () => {
  const { journal, disk, folder, open } = testJournal({ segmentBytes: SEGMENT_BYTES })
  const calls = Array.from({ length: 40 }, (_, index) => index + 1)
  await Promise.all(calls.map(open))
  let longest = 0
  const { write } = disk
  disk.write = (descriptor, bytes, offset, length, position) => {
    longest = Math.max(longest, length)
    return write(descriptor, bytes, offset, length, position)
  }
  const save = (call: number, round: number) =>
    new Promise((resolve) =>
      journal.saveSnapshotNow(callId(call), () => `${round}${'x'.repeat(60_000)}`, resolve),
    )
  for (let round = 0; round < 6; round++) for (const call of calls) await save(call, round)
  // A log that rests is tidied up with what comes next.
  await vi.waitFor(async () => {
    await save(1, 5)
    await journal.flush()
    expect(segmentPaths(folder)[0]).not.toContain('00000001.log')
  }, SOON)
  expect(longest).toBeLessThan(200_000)
  const { open: left, seen } = await contentsOf(folder)
  expect([left.length, seen.every((text) => text?.startsWith('5x'))]).toEqual([40, true])
})

test('10,000 records and open calls are adopted soon, and nothing else waits for it', async () => {
  const log = testJournal()
  const closing: Promise<unknown>[] = []
  for (let number = 1; number <= 12_000; number++) {
    void log.open(number)
    if (number <= 10_000) closing.push(log.close(number))
  }
  await Promise.all(closing)
  const folder = await stopped(log)
  let longestMs = 0
  let beforeMs = threadMs()
  const timer = setInterval(() => {
    longestMs = Math.max(longestMs, threadMs() - beforeMs)
    beforeMs = threadMs()
  }, 1)
  const startedAt = process.cpuUsage()
  const adopter = await adoptedJournal(folder)
  const { user, system } = process.cpuUsage(startedAt)
  clearInterval(timer)
  expect([adopter.last, adopter.selectInterrupted(0, 1e9).length]).toEqual([10_000, 2_000])
  expect((user + system) / 1_000).toBeLessThan(1_500 * busyness())
  expect(longestMs).toBeLessThan(250 * busyness())
})

async function stopped({ journal, folder }: TestJournal): Promise<string> {
  await journal.flush()
  await journal.stop()
  return folder
}

test('a folder of a log holds its segments, and nothing that is half made', async () => {
  const folder = testFolder()
  const log = testJournal({ folder, segmentBytes: SEGMENT_BYTES })
  await makeCalls(log, 1, 40)
  await stopped(log)
  await (await adoptedJournal(folder)).stop()
  for (const path of segmentPaths(folder)) expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(namesIn(folder).filter((name) => !name.endsWith('.log'))).toEqual(['journal.db'])
})
