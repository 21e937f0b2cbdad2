// @seconds: an upgrade that is cut at every write
import { copyFileSync, cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import type { Prepared } from '../../../../src/ledger/journal/journal-store.ts'
import { type LogDisk, systemDisk } from '../../../../src/ledger/journal/segments/log-disk.ts'
import { prepareOlder } from '../../../../src/ledger/journal/sqlite/thread/prepare-older.ts'
import { callId } from '../../support/calls.ts'
import { testFolder } from '../../support/folders.ts'
import { adoptedJournal, STREAM } from '../../support/journals.ts'
import { olderOpenText, olderRecordText, writeOlderJournal } from '../../support/older-journals.ts'

/** Enough for some segments. */
const RECORDS = 60
const SEGMENT_BYTES = 10_000

/** A disk on which the process is killed after so many creations and writes, in the middle of the next. */
function killingDisk(steps: number): LogDisk {
  let left = steps
  return {
    ...systemDisk,
    create: (path) => {
      if (left-- < 1) throw new Error('the process was killed')
      return systemDisk.create(path)
    },
    write: (descriptor, bytes, offset, length, position) => {
      if (left-- >= 1) return systemDisk.write(descriptor, bytes, offset, length, position)
      systemDisk.write(descriptor, bytes, offset, Math.floor(length / 2), position)
      throw new Error('the process was killed')
    },
  }
}

async function expectAll(folder: string, records: number): Promise<void> {
  const journal = await adoptedJournal(folder)
  expect([journal.last, journal.stream, journal.isTailLost, journal.doubted]).toEqual([
    records,
    STREAM,
    false,
    [],
  ])
  const open = journal.selectInterrupted(0, 10)
  expect(open.map(({ call, snapshot }) => [call, snapshot])).toEqual([
    [olderOpenText(9_001), null],
    [olderOpenText(9_002), '{"n":1}'],
  ])
  let bytesTotal = 0
  for (let after = 0; after < records; ) {
    for (const row of journal.read(after, 1_000, 1e9)) {
      bytesTotal += row.body.length
      if (
        row.sequence !== after + 1 ||
        row.body !== olderRecordText(row.sequence) ||
        row.bytesTotal !== bytesTotal
      )
        throw new Error(`record ${row.sequence} is wrong`)
      after = row.sequence
    }
  }
  await journal.stop()
}

function olderJournal(folder: string, records: number): DatabaseSync {
  const open = [
    { slot: 3, call: olderOpenText(9_001), seen: null },
    { slot: 7, call: olderOpenText(9_002), seen: '{"n":1}' },
  ]
  return writeOlderJournal(folder, { stream: STREAM, records, open })
}

test('an upgrade that is killed at any write begins again, with nothing lost', {
  timeout: 60_000,
}, async () => {
  const older = testFolder()
  olderJournal(older, RECORDS).close()
  for (let steps = 0; ; steps++) {
    const folder = testFolder()
    cpSync(older, folder, { recursive: true })
    let wasKilled = false
    try {
      expect(prepareOlder(folder, { disk: killingDisk(steps), segmentBytes: SEGMENT_BYTES })).toBe<Prepared>(
        'ready',
      )
    } catch (error) {
      if (!String(error).includes('killed')) throw error
      wasKilled = true
    }
    // Release 0.1.0 could still read it, and goes on with it as if nothing had happened.
    const database = new DatabaseSync(join(folder, 'journal.db'))
    const version = database.prepare('pragma user_version').get()?.user_version
    expect(version).toBe(wasKilled ? 1 : 2)
    if (wasKilled) expect(database.prepare('select count(*) as n from calls').get()?.n).toBe(RECORDS)
    database.close()
    await expectAll(folder, RECORDS)
    rmSync(folder, { recursive: true })
    if (!wasKilled) break
  }
})

test('an upgrade that is killed behind its transaction is finished', async () => {
  const [older, killed] = [testFolder(), testFolder()]
  olderJournal(older, 20).close()
  const source = testFolder()
  cpSync(older, source, { recursive: true })
  expect(prepareOlder(source)).toBe<Prepared>('ready')
  // The segments as they are, and journal.db as the transaction leaves it, in its WAL.
  cpSync(source, killed, { recursive: true })
  const database = new DatabaseSync(join(older, 'journal.db'))
  database.exec(`
    begin immediate;
    drop table calls; drop table open; drop table meta;
    pragma user_version = 2;
    commit;`)
  for (const name of ['journal.db', 'journal.db-wal']) copyFileSync(join(older, name), join(killed, name))
  database.close()
  await expectAll(killed, 20)
})

test('the calls of an older journal keep their texts, whatever is in them', async () => {
  const folder = testFolder()
  const call = olderOpenText(5).replace('/v1/chat/completions', '/v1/é\u{1f600}\ufeff')
  writeOlderJournal(folder, { stream: STREAM, records: 0, open: [{ slot: 1, call, seen: 'ü' }] }).close()
  const journal = await adoptedJournal(folder)
  expect(journal.selectInterrupted(0, 1)).toMatchObject([{ call, snapshot: 'ü' }])
  expect([journal.last, JSON.parse(call).callId]).toEqual([0, callId(5)])
})
