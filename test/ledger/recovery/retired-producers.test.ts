import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { createProducerFolder } from '../../../src/ledger/recovery/producer-folder.ts'
import {
  finishProducer,
  type RetiredProducer,
  RetiredProducers,
  readRetiredProducer,
  writeRetiredProducer,
} from '../../../src/ledger/recovery/retired-producers.ts'
import { callId } from '../support/calls.ts'
import { namesIn, testFolder } from '../support/folders.ts'
import { close, makeCalls, open, type Site, testSite } from '../support/ledgers.ts'

const SOON = { interval: 10 }
const DAY_MS = 86_400_000

function retired(producer: string, changes: Partial<RetiredProducer> = {}): RetiredProducer {
  return { producer, last: 7, stream: 'test:calls', database: 'a', finishedAtMs: Date.now(), ...changes }
}

/** A producer that did `calls` calls, all counted, and is gone with its folder. */
async function finished(site: Site, from: number, to: number): Promise<string> {
  const ledger = await site.ledger({ keepSeconds: 0.2 })
  const producer = ledger.producerOf('client-1')
  await makeCalls(ledger, from, to)
  await counted(site, ledger)
  await vi.waitFor(() => expect(ledger.stats().pruned).toBe(ledger.stats().last), SOON)
  await ledger.stop(0)
  expect(existsSync(join(site.journalDir, producer))).toBe(false)
  return producer
}

async function counted(site: Site, ledger: Ledger): Promise<void> {
  await vi.waitFor(async () => {
    await site.totals.rollUp(site.redis, site.stream)
    expect(site.totals.committedOffset(ledger.producerOf('client-1'))).toBe(ledger.stats().last)
  }, SOON)
}

async function expectGaps(site: Site, gaps: readonly object[]): Promise<void> {
  await vi.waitFor(async () => {
    await site.totals.rollUp(site.redis, site.stream)
    expect(site.totals.gaps).toEqual(gaps)
  }, SOON)
}

describe('Postgres restored to before a producer whose folder is gone', () => {
  test('what Postgres lost of a retired producer is recorded once as a gap, whether its owner or an adopter deleted the folder, by however many gateways', async () => {
    const site = testSite()
    const empty = site.totals.snapshot()
    const one = await finished(site, 1, 10)
    const dying = await site.ledger()
    const two = dying.producerOf('client-1')
    await makeCalls(dying, 11, 15)
    await counted(site, dying)
    await dying.stop(0)
    const adopter = await site.ledger({ keepSeconds: 0.2 })
    await vi.waitFor(() => expect(existsSync(join(site.journalDir, two))).toBe(false), SOON)
    await adopter.stop(0)

    site.totals.restore(empty)
    await Promise.all([1, 2, 3].map(() => site.ledger({ keepSeconds: 0.2 })))
    await vi.waitFor(async () => expect(await site.redis.xlen(site.stream)).toBe(6), SOON)
    await site.totals.rollUp(site.redis, site.stream)
    expect(new Set(site.totals.gaps)).toEqual(
      new Set([
        { producer: one, from: 1, to: 10, reason: 'journal_pruned' },
        { producer: two, from: 1, to: 5, reason: 'journal_pruned' },
      ]),
    )
    expect(site.totals.gaps).toHaveLength(2)
  })

  test('with Postgres restored to the middle of a retired producer only what is missing becomes a gap, and a running gateway sees it too', async () => {
    const site = testSite()
    const living = await site.ledger({ keepSeconds: 0.2 })
    const ledger = await site.ledger({ keepSeconds: 0.2 })
    const producer = ledger.producerOf('client-1')
    await makeCalls(ledger, 1, 4)
    await counted(site, ledger)
    const middle = site.totals.snapshot()
    await makeCalls(ledger, 5, 10)
    await counted(site, ledger)
    await vi.waitFor(() => expect(ledger.stats().pruned).toBe(10), SOON)
    await ledger.stop(0)
    expect(living.stats().adopted).toBe(0)
    site.totals.restore(middle)
    await expectGaps(site, [{ producer, from: 5, to: 10, reason: 'journal_pruned' }])
  })

  test('a gap marker that Redis loses is sent again, one that waits is not', async () => {
    const site = testSite()
    const empty = site.totals.snapshot()
    const producer = await finished(site, 1, 3)
    site.totals.restore(empty)
    const reads = vi.spyOn(site.totals, 'readCommittedOffsets')
    await site.ledger({ keepSeconds: 0.2 })
    await vi.waitFor(async () => expect(await site.redis.xlen(site.stream)).toBe(1), SOON)
    const before = reads.mock.calls.length
    await vi.waitFor(() => expect(reads.mock.calls.length).toBeGreaterThan(before + 5), SOON)
    expect(await site.redis.xlen(site.stream)).toBe(1)
    await site.redis.del(site.stream)
    await expectGaps(site, [{ producer, from: 1, to: 3, reason: 'journal_pruned' }])
  })

  test('entries of a retired producer that turn up on the stream are counted, whenever they do', async () => {
    const site = testSite()
    const empty = site.totals.snapshot()
    const ledger = await site.ledger({ keepSeconds: 0.2 })
    const producer = ledger.producerOf('client-1')
    await makeCalls(ledger, 1, 6)
    await vi.waitFor(async () => expect(await site.redis.xlen(site.stream)).toBe(6), SOON)
    const entries = await site.redis.xrange(site.stream, '-', '+')
    await counted(site, ledger)
    await vi.waitFor(() => expect(ledger.stats().pruned).toBe(6), SOON)
    await ledger.stop(0)
    site.totals.restore(empty)
    const putBack = async (index: number) =>
      await site.redis.xadd(site.stream, '*', ...(entries[index]?.[1] ?? []))
    await putBack(0)
    await putBack(1)
    await site.ledger({ keepSeconds: 0.2 })
    await expectGaps(site, [{ producer, from: 3, to: 6, reason: 'journal_pruned' }])
    await putBack(3)
    await expectGaps(site, [
      { producer, from: 3, to: 3, reason: 'journal_pruned' },
      { producer, from: 5, to: 6, reason: 'journal_pruned' },
    ])
    expect([...site.totals.counted.values()]).toEqual([1, 1, 1])
  })

  test('a retired producer’s folder that turns up again fills its gap, though it is an old copy; its open calls are not counted', async () => {
    const site = testSite()
    const empty = site.totals.snapshot()
    const copies = testFolder()
    const ledger = await site.ledger({ keepSeconds: 0.2 })
    const producer = ledger.producerOf('client-1')
    const folder = join(site.journalDir, producer)
    const copied = join(copies, producer)
    await makeCalls(ledger, 1, 6)
    await open(ledger, 7)
    cpSync(folder, copied, { recursive: true })
    expect(await close(ledger, 7)).toBeNull()
    await makeCalls(ledger, 8, 10)
    await counted(site, ledger)
    await vi.waitFor(() => expect(ledger.stats().pruned).toBe(10), SOON)
    await ledger.stop(0)
    site.totals.restore(empty)
    await site.ledger({ keepSeconds: 0.2 })
    await expectGaps(site, [{ producer, from: 1, to: 10, reason: 'journal_pruned' }])
    cpSync(copied, folder, { recursive: true })
    await site.ledger({ keepSeconds: 0.2 })
    await expectGaps(site, [{ producer, from: 7, to: 10, reason: 'journal_pruned' }])
    expect(new Set(site.totals.counted.keys())).toEqual(new Set([1, 2, 3, 4, 5, 6].map(callId)))
    await vi.waitFor(() => expect(existsSync(`${folder}.corrupt`)).toBe(true), SOON)
    expect(await readRetiredProducer(site.journalDir, producer)).toMatchObject({ last: 10 })
  })

  test('from an old copy of a retired producer’s folder what it has is counted, the rest becomes a gap, no sequence is given twice', async () => {
    const site = testSite()
    const empty = site.totals.snapshot()
    const copies = testFolder()
    const ledger = await site.ledger({ keepSeconds: 0.2 })
    const producer = ledger.producerOf('client-1')
    const folder = join(site.journalDir, producer)
    await makeCalls(ledger, 1, 6)
    await open(ledger, 7)
    cpSync(folder, join(copies, producer), { recursive: true })
    expect(await close(ledger, 7)).toBeNull()
    await counted(site, ledger)
    await vi.waitFor(() => expect(ledger.stats().pruned).toBe(7), SOON)
    await ledger.stop(0)
    cpSync(join(copies, producer), folder, { recursive: true })
    site.totals.restore(empty)
    await site.ledger({ keepSeconds: 0.2 })
    await expectGaps(site, [{ producer, from: 7, to: 7, reason: 'journal_pruned' }])
    expect(new Set(site.totals.counted.keys())).toEqual(new Set([1, 2, 3, 4, 5, 6].map(callId)))
  })
})

test('no gap is recorded in another database for what it never had', async () => {
  const site = testSite()
  const empty = site.totals.snapshot()
  const ours = await finished(site, 1, 5)
  site.totals.restore(empty)
  site.totals.database = 'b'
  const theirs = await finished(site, 11, 13)
  site.totals.restore(empty)
  await site.ledger({ keepSeconds: 0.2 })
  await expectGaps(site, [{ producer: theirs, from: 1, to: 3, reason: 'journal_pruned' }])
  expect(await readRetiredProducer(site.journalDir, ours)).toMatchObject({ database: 'a', last: 5 })
})

describe('the file of a retired producer', () => {
  test('the file of a retired producer is on disk before its folder is deleted: where it cannot be written, the folder stays', async () => {
    const directory = testFolder()
    const folder = createProducerFolder(directory)
    writeFileSync(join(directory, 'tombstones'), 'in its way')
    const end = { folder, last: 3, stream: 'test:calls' }
    await expect(finishProducer(directory, end, false)).rejects.toThrow()
    expect(namesIn(directory)).toContain(folder.producer)
    rmSync(join(directory, 'tombstones'))
    await finishProducer(directory, end, false)
    expect(namesIn(directory)).toEqual(['tombstones'])
    expect(await readRetiredProducer(directory, folder.producer)).toMatchObject({
      last: 3,
      stream: 'test:calls',
    })
    folder.lock.release()
  })

  test('the file of a retired producer is left of a quarantined folder, and of none that never had a record', async () => {
    const directory = testFolder()
    const [used, unused] = [createProducerFolder(directory), createProducerFolder(directory)]
    await finishProducer(directory, { folder: used, last: 3, stream: 's' }, true)
    await finishProducer(directory, { folder: unused, last: 0, stream: 's' }, false)
    expect(namesIn(directory)).toEqual([`${used.producer}.corrupt`, 'tombstones'])
    expect(namesIn(join(directory, 'tombstones'))).toEqual([used.producer])
    used.lock.release()
    unused.lock.release()
  })

  test('the file of a retired producer never comes to claim less', async () => {
    const directory = testFolder()
    const producer = 'a'.repeat(32)
    await writeRetiredProducer(directory, retired(producer, { last: 7 }))
    await writeRetiredProducer(directory, retired(producer, { last: 4 }))
    expect(await readRetiredProducer(directory, producer)).toMatchObject({ last: 7 })
  })

  test('the file of a retired producer is kept for 35 days, and a damaged one disturbs no other', async () => {
    const directory = testFolder()
    const nowMs = Date.now()
    const [young, old, garbled, back] = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(32)) as [
      string,
      string,
      string,
      string,
    ]
    await writeRetiredProducer(directory, retired(young, { finishedAtMs: nowMs - 34 * DAY_MS }))
    await writeRetiredProducer(directory, retired(old, { finishedAtMs: nowMs - 36 * DAY_MS }))
    await writeRetiredProducer(directory, retired(garbled))
    await writeRetiredProducer(directory, retired(back))
    const path = join(directory, 'tombstones', garbled)
    writeFileSync(path, readFileSync(path, 'utf8').slice(0, 9))
    const retiredProducers = new RetiredProducers(directory)
    const listed = await retiredProducers.list(new Set([back]), nowMs)
    expect(listed.map(({ producer }) => producer)).toEqual([young])
    expect(namesIn(join(directory, 'tombstones'))).toEqual([young, garbled, back])
    expect((await retiredProducers.list(new Set(), nowMs)).map(({ producer }) => producer).sort()).toEqual([
      young,
      back,
    ])
  })
})
