import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { parseEntry, parseRecord } from '../../../src/ledger/entry.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { callId, interruptedRecord, openCall } from '../support/calls.ts'
import { namesIn, testFolder } from '../support/folders.ts'
import { close, makeCalls, open, type Site, testSite } from '../support/ledgers.ts'
import { garble, garbleRecords, replaceOpenText, segmentPaths } from '../support/segments.ts'

const SOON = { interval: 10 }
const NO_REDIS = 'redis://127.0.0.1:1'

function folderOf(site: Site, ledger: Ledger): string {
  return join(site.journalDir, ledger.producerOf('client-1'))
}

/** What a crash now would leave behind, in a journal directory of its own. */
function copyOfCrash(from: string, toJournalDir: string, producer: string): void {
  const folder = join(toJournalDir, producer)
  mkdirSync(folder)
  for (const name of readdirSync(from)) {
    if (name.endsWith('.log')) copyFileSync(join(from, name), join(folder, name))
  }
}

async function adopted(ledger: Ledger): Promise<void> {
  await vi.waitFor(() => expect(ledger.stats().adopted).toBe(1), SOON)
}

describe('a journal whose producer is gone', () => {
  test('a journal whose producer is gone is adopted: its records are shipped under its own numbers, its open calls as interrupted', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    const numbers = await makeCalls(first, 1, 50)
    await open(first, 51)
    await open(first, 52)
    first.saveSnapshot(openCall(52), () => '{"prompt_tokens":9}')
    await first.stop(0)
    const second = await site.ledger()
    await adopted(second)
    await vi.waitFor(async () => expect(await site.redis.xlen(site.stream)).toBe(52), SOON)
    const entries = (await site.redis.xrange(site.stream, '-', '+')).map(([, fields]) => parseEntry(fields))
    const producer = first.producerOf('client-1')
    expect(entries).toMatchObject(
      entries.map((_, index) => ({ kind: 'entry', producer, sequence: index + 1 })),
    )
    const interrupted = entries
      .slice(50)
      .map((entry) => (entry.kind === 'entry' ? parseRecord(entry.body) : null))
    interrupted.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    expect(interrupted).toMatchObject([
      { callId: callId(51), outcome: 'interrupted', usageSource: 'none' },
      { callId: callId(52), outcome: 'interrupted', usageSource: 'partial', usageRaw: '{"prompt_tokens":9}' },
    ])
    await site.expectCounted([...numbers, 51, 52])
  })

  test('a journal whose producer is gone goes to the first adopter, and open calls become records once, however many race', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    const numbers = await makeCalls(first, 1, 20)
    for (let number = 21; number <= 30; number++) await open(first, number)
    await first.stop(0)
    const others = await Promise.all([site.ledger(), site.ledger(), site.ledger()])
    await vi.waitFor(
      () => expect(others.map((ledger) => ledger.stats().adopted).sort()).toEqual([0, 0, 1]),
      SOON,
    )
    await site.expectCounted([...numbers, ...Array.from({ length: 10 }, (_, index) => index + 21)])
  })

  test('a journal whose producer is gone goes from adopter to adopter with its numbers, each adding nothing twice', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    const numbers = await makeCalls(first, 1, 10)
    await open(first, 11)
    await first.stop(0)
    const second = await site.ledger({ redisUrl: NO_REDIS })
    await adopted(second)
    await second.stop(0)
    const third = await site.ledger()
    await adopted(third)
    await site.expectCounted([...numbers, 11])
    expect(site.totals.committedOffset(first.producerOf('client-1'))).toBe(11)
  })

  test('a journal whose producer is gone waits for Postgres, which alone says what is counted of it', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    const numbers = await makeCalls(first, 1, 10)
    await open(first, 11)
    await first.stop(0)
    site.totals.away = true
    const second = await site.ledger()
    await vi.waitFor(() =>
      expect(site.log.lines).toContainEqual(
        expect.objectContaining({
          event: 'adoption.postponed',
          fields: expect.objectContaining({ err: new Error('Postgres is away') }),
        }),
      ),
    )
    expect(second.stats().adopted).toBe(0)
    site.totals.away = false
    await adopted(second)
    await site.expectCounted([...numbers, 11])
  })

  test('a journal whose producer is gone is deleted when all of it was committed for long enough', async () => {
    const site = testSite()
    const first = await site.ledger()
    const numbers = await makeCalls(first, 1, 10)
    await first.stop(5_000)
    const second = await site.ledger({ keepSeconds: 1 })
    await adopted(second)
    await site.expectCounted(numbers)
    const countedAtMs = performance.now()
    await vi.waitFor(() => expect(second.stats().adopted).toBe(0), SOON)
    expect(performance.now() - countedAtMs).toBeGreaterThan(900)
    await vi.waitFor(
      () => expect(namesIn(site.journalDir)).toEqual([second.producerOf('client-1'), 'tombstones']),
      SOON,
    )
  })

  test('an empty journal behind a committed offset that regressed: what it had is recorded as a gap before it is deleted', async () => {
    const site = testSite()
    const empty = site.totals.snapshot()
    const first = await site.ledger({ keepSeconds: 0.2 })
    await site.expectCounted(await makeCalls(first, 1, 10))
    await vi.waitFor(() => expect(first.stats().pruned).toBe(10), SOON)
    const producer = first.producerOf('client-1')
    const crashed = testFolder()
    copyOfCrash(folderOf(site, first), crashed, producer)
    await first.stop(0)
    copyOfCrash(join(crashed, producer), site.journalDir, producer)
    site.totals.restore(empty)
    const second = await site.ledger({ keepSeconds: 0.2 })
    const named = [{ producer, from: 1, to: 10, reason: 'journal_pruned' }]
    await vi.waitFor(async () => {
      await site.totals.rollUp(site.redis, site.stream)
      expect(site.totals.gaps).toEqual(named)
    }, SOON)
    await vi.waitFor(
      () => expect(namesIn(site.journalDir)).toEqual([second.producerOf('client-1'), 'tombstones']),
      SOON,
    )
  })

  test('a Postgres that regressed is refilled from an adopted journal while its adopter keeps it', async () => {
    const site = testSite()
    const first = await site.ledger()
    const numbers = await makeCalls(first, 1, 40)
    await first.stop(5_000)
    const empty = site.totals.snapshot()
    const second = await site.ledger({ keepSeconds: 60 })
    await adopted(second)
    await site.expectCounted(numbers)
    await vi.waitFor(() => expect(second.stats().uncommittedRecords).toBe(0), SOON)
    site.totals.restore(empty)
    await site.expectCounted(numbers)
  })

  test('a journal whose producer is gone counts toward the cap of its adopter', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    await makeCalls(first, 1, 100)
    await first.stop(0)
    const second = await site.ledger({ redisUrl: NO_REDIS, journalMaxBytes: 20_000 })
    expect(second.canTakeCalls).toBe(true)
    await adopted(second)
    expect(second.canTakeCalls).toBe(false)
  })

  test('a journal whose producer runs is never adopted, whatever became of its lock file', async () => {
    const site = testSite()
    const first = await site.ledger()
    await open(first, 1)
    rmSync(join(folderOf(site, first), 'alive.db'))
    const second = await site.ledger()
    await vi.waitFor(
      () =>
        expect(site.log.lines).toContainEqual(
          expect.objectContaining({
            event: 'adoption.postponed',
            fields: expect.objectContaining({
              err: expect.objectContaining({
                message: 'its lock is free, but a process has the journal open',
              }),
            }),
          }),
        ),
      // The first try may meet the owner while it binds the journal to its database; the next comes five seconds later.
    )
    expect(second.stats().adopted).toBe(0)
    expect(await close(first, 1)).toBeNull()
    await site.expectCounted([1])
  })
})

describe('a journal of another database', () => {
  test('a journal of another database is left alone with one log line, and adopted for its own, or when it is bound to none any more', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    const databaseId = join(folderOf(site, first), 'database')
    await vi.waitFor(() => expect(readFileSync(databaseId, 'utf8')).toBe('a\n'), SOON)
    const numbers = await makeCalls(first, 1, 10)
    await open(first, 11)
    await first.stop(0)
    site.totals.database = 'b'
    const said = () => site.log.lines.filter(({ event }) => event === 'adoption.foreign_journal')
    const foreignJournal = await site.ledger()
    await vi.waitFor(() => expect(said()).toHaveLength(1), SOON)
    await site.expectCounted(await makeCalls(foreignJournal, 101, 105))
    expect(foreignJournal.stats()).toMatchObject({ adopted: 0, corrupt: 0 })
    expect(said()).toHaveLength(1)
    await foreignJournal.stop(0)

    rmSync(databaseId)
    const last = await site.ledger()
    // With the journal of the other database, whose records are kept.
    await vi.waitFor(() => expect(last.stats().adopted).toBe(2), SOON)
    await site.expectCounted([...numbers, 11, 101, 102, 103, 104, 105])
    expect(readFileSync(databaseId, 'utf8')).toBe('b\n')
  })

  test('a new database in the place of the one before gets what a running gateway’s journal still has, and binds it', async () => {
    const site = testSite()
    const empty = site.totals.snapshot()
    const ledger = await site.ledger({ keepSeconds: 2 })
    const databaseId = join(folderOf(site, ledger), 'database')
    const numbers = await makeCalls(ledger, 1, 10)
    await site.expectCounted(numbers)
    await vi.waitFor(() => expect(ledger.stats().committedOffset).toBe(10), SOON)
    expect(readFileSync(databaseId, 'utf8')).toBe('a\n')
    site.totals.restore(empty)
    site.totals.database = 'b'
    await site.expectCounted(numbers)
    await vi.waitFor(() => expect(readFileSync(databaseId, 'utf8')).toBe('b\n'), SOON)
    expect(site.totals.gaps).toEqual([])
  })
})

describe('a damaged journal', () => {
  async function deadFolder(site: Site, calls: number): Promise<string> {
    const first = await site.ledger({ redisUrl: NO_REDIS })
    for (let number = 1; number <= calls; number++) await makeCalls(first, number, number)
    await first.stop(0)
    return folderOf(site, first)
  }

  test('a journal with a bad region: what can be read is counted, the rest is recorded as a gap, the folder is kept', async () => {
    const site = testSite()
    const folder = await deadFolder(site, 300)
    const [path = ''] = segmentPaths(folder)
    garble(path, Math.floor(statSync(path).size / 2), 4_096)
    const second = await site.ledger({ keepSeconds: 0.5 })
    await adopted(second)
    await vi.waitFor(async () => {
      await site.totals.rollUp(site.redis, site.stream)
      expect([...site.totals.committedOffsets.values()]).toEqual([300])
    }, SOON)
    const [gap] = site.totals.gaps
    expect(gap).toMatchObject({ reason: 'journal_corrupt' })
    const missing = (gap?.to ?? 0) - (gap?.from ?? 0) + 1
    expect(missing).toBeLessThan(20)
    expect(site.totals.counted.size).toBe(300 - missing)
    expect(site.totals.miscounted).toEqual([])
    await vi.waitFor(() => expect(existsSync(`${folder}.corrupt`)).toBe(true), SOON)
    expect(second.stats()).toMatchObject({ adopted: 0, corrupt: 1 })
    expect(readFileSync(path.replace(folder, `${folder}.corrupt`)).includes(Buffer.alloc(4_096, 0xa5))).toBe(
      true,
    )
  })

  test('a journal in which calls may have ended where it is unreadable: they are named and not counted, later ones are counted', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    for (const number of [1, 2]) expect(await open(first, number)).toBeNull()
    expect(await close(first, 1)).toBeNull()
    expect(await open(first, 3)).toBeNull()
    await first.stop(0)
    garbleRecords(folderOf(site, first), 1, 1)
    await site.ledger()
    await site.expectCounted([3])
    expect(site.totals.gaps).toMatchObject([{ from: 1, to: 1, reason: 'journal_corrupt' }])
    const named = site.log.lines.filter(({ event }) => event === 'adoption.abandoned_calls')
    expect(named).toMatchObject([{ level: 'error', fields: { doubted: 2, unknown: 0 } }])
    expect(JSON.stringify(named)).toContain(callId(2))
  })

  test('calls of a kept journal that are not counted are named once, however often it is adopted', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    for (const number of [1, 2]) expect(await open(first, number)).toBeNull()
    expect(await close(first, 1)).toBeNull()
    expect(await open(first, 3)).toBeNull()
    await first.stop(0)
    const folder = folderOf(site, first)
    garbleRecords(folder, 1, 1)
    for (let times = 0; times < 3; times++) {
      const next = await site.ledger({ redisUrl: NO_REDIS })
      await adopted(next)
      await next.stop(0)
    }
    const named = () => site.log.lines.filter(({ event }) => event === 'adoption.abandoned_calls')
    expect(named()).toMatchObject([{ fields: { doubted: 2 } }])
    // What was said cannot be read: rather twice than never.
    writeFileSync(join(folder, 'abandoned'), 'no line of ours')
    await adopted(await site.ledger({ redisUrl: NO_REDIS }))
    expect(named()).toHaveLength(2)
  })

  test('a journal that is not a log is quarantined with an error, and disturbs no other', async () => {
    const site = testSite()
    const folder = await deadFolder(site, 10)
    for (const path of segmentPaths(folder)) writeFileSync(path, 'no log '.repeat(1_000))
    const second = await site.ledger()
    await vi.waitFor(() => expect(second.stats().corrupt).toBe(1), SOON)
    expect(existsSync(`${folder}.corrupt`)).toBe(true)
    expect(site.log.lines.filter(({ level }) => level === 'error')).not.toEqual([])
    await site.expectCounted(await makeCalls(second, 100, 110))
  })

  test('a journal with a damaged lock file is adopted all the same', async () => {
    const site = testSite()
    const folder = await deadFolder(site, 10)
    writeFileSync(join(folder, 'alive.db'), 'no database '.repeat(1_000))
    await site.ledger()
    await site.expectCounted([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  })

  test('a journal that lacks records which Postgres has is quarantined: its sequences were used already', async () => {
    const site = testSite()
    const folder = await deadFolder(site, 10)
    const producer = folder.slice(-32)
    site.totals.setCommittedOffset(producer, 12)
    const second = await site.ledger()
    await vi.waitFor(() => expect(second.stats().corrupt).toBe(1), SOON)
    expect(await site.redis.xlen(site.stream)).toBe(0)
  })

  test('a journal with an unreadable open call: the others are counted, the call is named in the log', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    for (let number = 1; number <= 3; number++) await open(first, number)
    await first.stop(0)
    const [path = ''] = segmentPaths(folderOf(site, first))
    replaceOpenText(path, 2, '{garbled')
    await site.ledger()
    await site.expectCounted([1, 3])
    expect(site.log.lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        event: 'adoption.unreadable_call',
      }),
    )
  })

  test('a journal whose calls cannot be built into records keeps the rows and goes on', async () => {
    const site = testSite()
    const first = await site.ledger({ redisUrl: NO_REDIS })
    await makeCalls(first, 1, 5)
    await open(first, 6)
    await first.stop(0)
    await site.ledger({
      buildInterrupted: (call, snapshot) => {
        if (call.callId === callId(6)) throw new Error('no')
        return interruptedRecord(call, snapshot)
      },
    })
    await site.expectCounted([1, 2, 3, 4, 5])
  })
})

test('power loss: the journal as it was at the last sync, the rest gone, counts every synced record once', async () => {
  const afterPowerLoss = testFolder()
  const site = testSite()
  const first = await site.ledger({ redisUrl: NO_REDIS })
  const synced = await makeCalls(first, 1, 100)
  await vi.waitFor(() => expect(first.stats().synced).toBe(100), SOON)
  copyOfCrash(folderOf(site, first), afterPowerLoss, first.producerOf('client-1'))
  await makeCalls(first, 101, 150)
  await site.ledger({ journalDir: afterPowerLoss })
  await site.expectCounted(synced)
})
