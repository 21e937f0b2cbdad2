import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { parseEntry } from '../../../src/ledger/entry.ts'
import { readJournalDatabaseId } from '../../../src/ledger/recovery/journal-database-id.ts'
import { readRetiredProducer } from '../../../src/ledger/recovery/retired-producers.ts'
import { callId } from '../support/calls.ts'
import { testFolder } from '../support/folders.ts'
import { testSite } from '../support/ledgers.ts'

// The files of release 0.1.0, by hand: names, tables and texts stay readable whatever becomes of the code that
// writes them. An upgrade must lose nothing.

const PRODUCER = '0123456789abcdef0123456789abcdef'
const SOON = { timeout: 15_000, interval: 10 }

function openText(number: number): string {
  return (
    `{"callId":"${callId(number)}","arrivedAtMs":1760000000000,"clientId":"client_1","keyId":"key_1"` +
    ',"upstream":"openai","provider":"openai","method":"POST","path":"/v1/chat/completions"' +
    ',"requestedModel":"gpt-4o-mini"}'
  )
}

function recordText(number: number): string {
  const rest =
    ',"reportedModel":"gpt-4o-mini-2024-07-18","model":"gpt-4o-mini-2024-07-18","status":200,"outcome":"complete"' +
    ',"usageSource":"reported","usage":{"inputTokens":11,"outputTokens":7},"costPico":"5850000"' +
    ',"priceId":"openai/gpt-4o-mini#std","latencyUs":1234567}'
  return openText(number).replace(/\}$/, rest)
}

function writeFolder(journalDir: string, stream: string): void {
  const folder = join(journalDir, PRODUCER)
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'alive.db'), '')
  writeFileSync(join(folder, 'database'), '1763800000.000001\n')
  writeFileSync(join(folder, 'reserve'), 'x')
  const database = new DatabaseSync(join(folder, 'journal.db'))
  database.exec(`
    pragma journal_mode = wal;
    create table open(slot integer primary key, call text not null, seen text);
    create table calls(sequence integer primary key, bytes_total integer not null, body text not null);
    create table meta(name text primary key, value not null) without rowid;
    pragma user_version = 1;`)
  const addMeta = database.prepare('insert into meta(name, value) values (?, ?)')
  addMeta.run('pruned_to', 0)
  addMeta.run('stream', stream)
  const addCall = database.prepare('insert into calls(sequence, bytes_total, body) values (?, ?, ?)')
  let bytesTotal = 0
  for (const sequence of [1, 2]) {
    const body = recordText(sequence)
    bytesTotal += body.length
    addCall.run(sequence, bytesTotal, body)
  }
  const addOpen = database.prepare('insert into open(slot, call, seen) values (?, ?, ?)')
  addOpen.run(1, openText(3), '{"usageSource":"partial"}')
  addOpen.run(4, openText(4), null)
  database.close()
}

test('a journal of release 0.1.0 is adopted: its records as they are, its open calls with their snapshots', async () => {
  const site = testSite()
  writeFolder(site.journalDir, site.stream)
  site.totals.database = '1763800000.000001'
  await site.ledger()
  await vi.waitFor(async () => expect(await site.redis.xlen(site.stream)).toBe(4), SOON)
  const entries = (await site.redis.xrange(site.stream, '-', '+')).map(([, fields]) => parseEntry(fields))
  expect(entries).toMatchObject([
    { kind: 'entry', producer: PRODUCER, sequence: 1, body: recordText(1) },
    { kind: 'entry', producer: PRODUCER, sequence: 2, body: recordText(2) },
    { kind: 'entry', producer: PRODUCER, sequence: 3 },
    { kind: 'entry', producer: PRODUCER, sequence: 4 },
  ])
  const interrupted = entries
    .slice(2)
    .map((entry) => JSON.parse(entry !== null && 'body' in entry ? entry.body : '{}'))
  expect(interrupted).toMatchObject([
    { ...JSON.parse(openText(3)), outcome: 'interrupted', usageRaw: '{"usageSource":"partial"}' },
    { ...JSON.parse(openText(4)), outcome: 'interrupted', usageSource: 'none' },
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
