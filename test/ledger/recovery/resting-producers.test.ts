// @long: waits for close to a minute for what rests
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import {
  COUNTED_FILE,
  RestingProducers,
  readCountedFile,
  writeCountedFile,
} from '../../../src/ledger/recovery/resting-producers.ts'
import { namesIn, testFolder } from '../support/folders.ts'
import { makeCalls, type Site, testSite } from '../support/ledgers.ts'

const KEEP_MS = 300_000
const NO_REDIS = 'redis://127.0.0.1:1'
/** More than one process adopts at a time: 64. */
const DEAD = 140
const TEST_MS = 60_000
const WAIT = { interval: 50 }

function restingAt(clock: { ms: number }): RestingProducers {
  return new RestingProducers(KEEP_MS, () => clock.ms)
}

describe('a producer that rests', () => {
  test('a producer that rests is left alone until its keep time is over, by the readings that it came with', () => {
    const clock = { ms: 1_000_000 }
    const resting = restingAt(clock)
    const readings = [
      { atMs: 700_100, committedOffset: 4 },
      { atMs: 900_000, committedOffset: 9 },
    ]
    resting.add('a', { last: 9, readings, damaged: true })
    expect(resting.isWaiting('a')).toBe(true)
    expect(resting.isWaiting('b')).toBe(false)
    clock.ms = 900_000 + KEEP_MS - 1
    expect(resting.isWaiting('a')).toBe(true)
    clock.ms = 900_000 + KEEP_MS
    expect(resting.isWaiting('a')).toBe(false)
    expect(resting.take('a')).toEqual({ last: 9, readings, damaged: true })
    expect(resting.take('a')).toBeNull()
  })

  test('a producer that rests does so no longer once Postgres lacks one of its records', () => {
    const resting = restingAt({ ms: 0 })
    for (const id of ['whole', 'behind', 'gone'])
      resting.add(id, { last: 9, readings: [{ atMs: 0, committedOffset: 9 }], damaged: false })
    resting.compare(
      resting.ids,
      new Map([
        ['whole', 9],
        ['behind', 8],
      ]),
    )
    expect(resting.ids).toEqual(['whole'])
    resting.keepOnly(['another'])
    expect(resting.ids).toEqual([])
  })
})

test('a file in a folder says what was counted; what cannot be read says nothing', async () => {
  const folder = testFolder()
  expect(await readCountedFile(folder)).toBeNull()
  await writeCountedFile(folder, { last: 7, damaged: true })
  expect(await readCountedFile(folder)).toEqual({ last: 7, damaged: true })
  for (const text of ['', '{"last":', '{"last":0}', '{"last":"7"}', '{"last":1.5}', 'null', '7']) {
    writeFileSync(join(folder, COUNTED_FILE), text)
    expect(await readCountedFile(folder)).toBeNull()
  }
})

/** As many dead producers as {@link DEAD}, each with the record of one call. */
async function leaveDeadProducers(site: Site): Promise<number[]> {
  const numbers: number[] = []
  for (let number = 1; number <= DEAD; number += 1) {
    const dead = await site.ledger({ redisUrl: NO_REDIS })
    numbers.push(...(await makeCalls(dead, number, number)))
    await dead.stop(0)
  }
  return numbers
}

describe('more dead producers than are adopted at a time', () => {
  test(
    'more dead producers than are adopted at a time are shipped all the same, and deleted when kept for long enough',
    async () => {
      const site = testSite()
      const numbers = await leaveDeadProducers(site)
      // Each of the dead may have adopted some of those before it.
      const before = site.log.lines.length
      const ledger = await site.ledger({ keepSeconds: 8 })
      await vi.waitFor(() => expect(ledger.stats().adopted).toBe(64), WAIT)
      site.keepRollingUp()
      await vi.waitFor(() => expect(site.totals.counted.size).toBe(DEAD), WAIT)
      await site.expectCounted(numbers)
      await vi.waitFor(
        () => expect(namesIn(site.journalDir)).toEqual([ledger.producerOf('client-1'), 'tombstones']),
        WAIT,
      )
      expect(site.totals.miscounted).toEqual([])
      // Each is opened once to be shipped, and once more to be deleted.
      const opened = site.log.lines.slice(before).filter(({ event }) => event === 'adoption.done')
      expect(opened.length).toBeLessThanOrEqual(2 * DEAD)
    },
    TEST_MS,
  )

  test(
    'more dead producers than are adopted at a time are shipped again, resting or not, when Postgres was restored',
    async () => {
      const site = testSite()
      const empty = site.totals.snapshot()
      const numbers = await leaveDeadProducers(site)
      const ledger = await site.ledger()
      await site.expectCounted(numbers)
      await vi.waitFor(() => expect(ledger.stats().adopted).toBeLessThan(64), WAIT)
      // Those that rest keep their folders.
      expect(namesIn(site.journalDir)).toHaveLength(DEAD + 1)
      await ledger.stop(0)
      // The next process does not open the file in its folder says is counted.
      const next = await site.ledger()
      await vi.waitFor(() => expect(next.stats().adopted).toBeGreaterThan(0), WAIT)
      expect(next.stats().adopted).toBeLessThan(64)
      site.totals.restore(empty)
      await site.expectCounted(numbers)
    },
    TEST_MS,
  )
})

test('while Postgres is silent, journals beyond those adopted at a time are not tried for', async () => {
  const site = testSite()
  await leaveDeadProducers(site)
  site.totals.away = true
  const ledger = await site.ledger()
  const postponed = () => site.log.lines.filter(({ event }) => event === 'adoption.postponed')
  await vi.waitFor(() => expect(postponed()).not.toEqual([]), WAIT)
  await delay(500)
  expect(postponed()).toHaveLength(1)
  expect(ledger.stats().adopted).toBe(0)
})
