import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { parseEntry } from '../../../src/ledger/entry.ts'
import { readJournalDatabaseId } from '../../../src/ledger/recovery/journal-database-id.ts'
import { readRetiredProducer } from '../../../src/ledger/recovery/retired-producers.ts'
import { testFolder } from '../support/folders.ts'
import { testSite } from '../support/ledgers.ts'
import {
  olderOpenText,
  olderRecordText,
  writeOlderFiles,
  writeOlderJournal,
} from '../support/older-journals.ts'

const PRODUCER = '0123456789abcdef0123456789abcdef'
const SOON = { timeout: 15_000, interval: 10 }

function writeFolder(journalDir: string, stream: string): void {
  const folder = join(journalDir, PRODUCER)
  mkdirSync(folder, { recursive: true })
  writeOlderFiles(folder, '1763800000.000001')
  const open = [
    { slot: 1, call: olderOpenText(3), seen: '{"usageSource":"partial"}' },
    { slot: 4, call: olderOpenText(4), seen: null },
  ]
  writeOlderJournal(folder, { stream, records: 2, open }).close()
}

test('a journal of release 0.1.0 is adopted: its records as they are, its open calls with their snapshots', async () => {
  const site = testSite()
  writeFolder(site.journalDir, site.stream)
  site.totals.database = '1763800000.000001'
  await site.ledger()
  await vi.waitFor(async () => expect(await site.redis.xlen(site.stream)).toBe(4), SOON)
  const entries = (await site.redis.xrange(site.stream, '-', '+')).map(([, fields]) => parseEntry(fields))
  expect(entries).toMatchObject([
    { kind: 'entry', producer: PRODUCER, sequence: 1, body: olderRecordText(1) },
    { kind: 'entry', producer: PRODUCER, sequence: 2, body: olderRecordText(2) },
    { kind: 'entry', producer: PRODUCER, sequence: 3 },
    { kind: 'entry', producer: PRODUCER, sequence: 4 },
  ])
  const interrupted = entries
    .slice(2)
    .map((entry) => JSON.parse(entry !== null && 'body' in entry ? entry.body : '{}'))
  expect(interrupted).toMatchObject([
    { ...JSON.parse(olderOpenText(3)), outcome: 'interrupted', usageRaw: '{"usageSource":"partial"}' },
    { ...JSON.parse(olderOpenText(4)), outcome: 'interrupted', usageSource: 'none' },
  ])
  await site.expectCounted([1, 2, 3, 4])
  expect(site.log.lines.filter(({ level }) => level === 'error')).toEqual([])
})

test('what release 0.1.0 wrote of databases and retired producers is read', async () => {
  const journalDir = testFolder()
  writeFolder(journalDir, 'test:calls')
  expect(await readJournalDatabaseId(join(journalDir, PRODUCER))).toBe('1763800000.000001')
  mkdirSync(join(journalDir, 'tombstones'))
  writeFileSync(
    join(journalDir, 'tombstones', PRODUCER),
    '{"last":7,"stream":"test:calls","database":"1763800000.000001","finishedAtMs":1763800000000}\n',
  )
  expect(await readRetiredProducer(journalDir, PRODUCER)).toEqual({
    producer: PRODUCER,
    last: 7,
    stream: 'test:calls',
    database: '1763800000.000001',
    finishedAtMs: 1_763_800_000_000,
  })
})
