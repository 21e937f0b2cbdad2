import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { SqliteJournals } from '../../../src/ledger/journal/sqlite/sqlite-journals.ts'
import { adoptJournal } from '../../../src/ledger/recovery/adopt-journal.ts'
import { acquireLivenessLock } from '../../../src/ledger/recovery/liveness-lock.ts'
import { interruptedRecord } from '../support/calls.ts'
import { testFolder } from '../support/folders.ts'
import { testJournal } from '../support/journals.ts'
import { logLines } from '../support/log-lines.ts'

const CALLS = 40
const WAL_HEADER_BYTES = 32
const FRAME_BYTES = 24 + 4_096

/** What an adopter makes of a journal of `CALLS` records, never checkpointed, with this WAL and this committed offset. */
async function adoptedWith(committedOffset: number, changeWal: (wal: Buffer) => Buffer) {
  const folder = testFolder()
  const crashed = testFolder()
  const { close } = testJournal({ folder })
  for (let number = 1; number <= CALLS; number++) await close(number)
  copyFileSync(join(folder, 'journal.db'), join(crashed, 'journal.db'))
  writeFileSync(join(crashed, 'journal.db-wal'), changeWal(readFileSync(join(folder, 'journal.db-wal'))))
  const log = logLines()
  const journals = new SqliteJournals(log)
  const lock = acquireLivenessLock(crashed)
  if (lock === null) throw new Error('the lock is taken')
  onTestFinished(async () => {
    lock.release()
    await journals.stop()
  })
  return await adoptJournal({
    folder: { producer: 'a'.repeat(32), path: crashed, lock },
    committedOffset,
    numbered: committedOffset,
    database: { readGaps: async () => [] },
    journals,
    buildInterrupted: interruptedRecord,
    log,
  })
}

/** The first frame of the transaction after the one that made the tables. */
function endOfTables(wal: Buffer): number {
  for (let at = WAL_HEADER_BYTES; ; at += FRAME_BYTES)
    if (wal.readUInt32BE(at + 4) !== 0) return at + FRAME_BYTES
}

test('a journal whose WAL is unreadable from its beginning is not one that was never begun: Postgres has of it', async () => {
  const noHeader = (wal: Buffer) => wal.fill(0xa5, 0, WAL_HEADER_BYTES)
  expect(await adoptedWith(CALLS / 2, noHeader)).toMatchObject({ kind: 'unusable' })
})

test('a journal without a record or an open call is quarantined where Postgres has records of it', async () => {
  const onlyTables = (wal: Buffer) => wal.subarray(0, endOfTables(wal))
  expect(await adoptedWith(CALLS / 2, onlyTables)).toMatchObject({ kind: 'unusable' })
})

test('a journal of which nothing was ever counted, and which has nothing, is of no use', async () => {
  const onlyTables = (wal: Buffer) => wal.subarray(0, endOfTables(wal))
  expect(await adoptedWith(0, onlyTables)).toMatchObject({ kind: 'nothing' })
  expect(await adoptedWith(0, () => Buffer.alloc(0))).toMatchObject({ kind: 'nothing' })
})
