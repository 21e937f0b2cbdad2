import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { OpenCall } from '../../../src/call/call-record.ts'
import { serialiseRecord } from '../../../src/ledger/entry.ts'
import type { DiskReserve } from '../../../src/ledger/journal/disk-reserve.ts'
import type { Journal } from '../../../src/ledger/journal/journal.ts'
import { JournalDatabase } from '../../../src/ledger/journal/sqlite/journal-database.ts'
import { SqliteJournal } from '../../../src/ledger/journal/sqlite/sqlite-journal.ts'
import { JournalWork } from '../../../src/ledger/journal/sqlite/thread/journal-work.ts'
import { callId, callRecord, openCall } from './calls.ts'
import { testFolder } from './folders.ts'
import { logLines } from './log-lines.ts'

export const STREAM = 'test:calls'

/** SQLite's own words for a full disk. */
export function diskFull(): Error {
  return Object.assign(new Error('database or disk is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
}

/** A journal's database whose commits fail while `failure` is set. */
export class FailingDatabase extends JournalDatabase {
  failure: Error | null = null
  begins = 0
  commits = 0

  override begin(): void {
    this.begins++
    super.begin()
  }

  override commit(): void {
    if (this.failure !== null) throw this.failure
    this.commits++
    super.commit()
  }
}

export interface TestJournal {
  readonly path: string
  readonly database: FailingDatabase
  readonly journal: Journal
  readonly log: ReturnType<typeof logLines>
  open(number: number): Promise<Error | null>
  close(number: number): Promise<Error | null>
}

/** A journal in a folder of its own. */
export function testJournal({
  folder = testFolder(),
  reserve = null as DiskReserve | null,
  create = true,
} = {}): TestJournal {
  const path = join(folder, 'journal.db')
  const database = new FailingDatabase(path, create ? STREAM : undefined)
  const work = new JournalWork()
  const log = logLines()
  const journal = new SqliteJournal({ path, database, work, reserve, log })
  onTestFinished(async () => {
    await journal.stop()
    await work.stop()
  })
  return {
    path,
    database,
    journal,
    log,
    open: (number) => opened(journal, openCall(number)),
    close: (number) => closed(journal, number),
  }
}

export function opened(journal: Journal, call: OpenCall): Promise<Error | null> {
  return new Promise((resolve) => journal.open(call, resolve))
}

export function closed(journal: Journal, number: number): Promise<Error | null> {
  return new Promise((resolve) => journal.close(callId(number), serialiseRecord(callRecord(number)), resolve))
}
