import { join } from 'node:path'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import { parseOpenCall, serialiseRecord } from '../../call/record-codec.ts'
import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Logger } from '../../lib/logger.ts'
import { JournalDatabase, type OpenRow } from '../journal/sqlite/journal-database.ts'
import { Journal } from '../journal/sqlite/sqlite-journal.ts'
import type { JournalWork } from '../journal/sqlite/thread/journal-work.ts'
import { JOURNAL_FILE, type ProducerFolder } from './producer-folder.ts'

/** Open rows turned into records in one transaction. */
const SLICE_ROWS = 200

export interface AdoptJournalOptions {
  /** Its lock is ours. */
  readonly folder: ProducerFolder
  /** The producer's mark in Postgres, read while its lock was ours. */
  readonly committedOffset: number
  /** Its numbers that are known to have been given: at least the mark. */
  readonly numbered: number
  /** Unfilled holes that workers recorded for it. */
  readonly readGaps: () => Promise<readonly SequenceRange[]>
  readonly work: JournalWork
  /** The record of a call that a crash has cut. */
  readonly buildInterrupted: (open: OpenCall, snapshot: string | null) => CallRecord
  readonly onSynced: () => void
  readonly log: Logger
}

/**
 * What came of it. `adopted`: calls that were under way are records now; ship them all. `nothing`: there is
 * nothing to ship or to keep. `unusable`: cannot be shipped; the log says what that means.
 */
export type AdoptedJournal =
  | {
      readonly kind: 'adopted'
      readonly journal: Journal
      readonly stream: string
      /** It is not all that its producer wrote. */
      readonly damaged: boolean
    }
  /** `stream`: the producer's, `null` where nothing tells it. */
  | { readonly kind: 'nothing'; readonly stream: string | null }
  | { readonly kind: 'unusable'; readonly stream: string | null }

/** Opens the journal of a producer that is gone. Rejects where another try, later, may do better. */
export async function adoptJournal(options: AdoptJournalOptions): Promise<AdoptedJournal> {
  const { folder, work, log, numbered } = options
  const prepared = await work.prepare(folder.path)
  switch (prepared) {
    case 'ready':
    case 'damaged':
      return await openJournal(options, prepared === 'damaged')
    case 'absent':
      if (numbered === 0) return { kind: 'nothing', stream: null }
      // Its WAL had everything, and is garbled from its beginning; or somebody took the file away.
      log.error(
        { producer: folder.producer, numbered },
        'a journal is gone; what was not shipped of it is lost',
      )
      return { kind: 'unusable', stream: null }
    case 'unreadable':
      log.error({ producer: folder.producer }, 'a journal is unreadable; what was not shipped of it is lost')
      return { kind: 'unusable', stream: null }
    case 'in_use':
      throw new Error('its lock is free, but some process has the journal open')
    case 'newer':
      throw new Error('it was written by a newer release')
  }
}

async function openJournal(options: AdoptJournalOptions, damaged: boolean): Promise<AdoptedJournal> {
  const { folder, work, log, committedOffset, numbered, readGaps, onSynced } = options
  const path = join(folder.path, JOURNAL_FILE)
  const database = new JournalDatabase(path)
  let journal: Journal
  try {
    journal = new Journal({ path, database, work, reserve: null, log, onSynced })
  } catch (error) {
    database.close()
    throw error
  }
  try {
    const { last, prunedTo } = journal
    const stream = String(database.getMeta('stream'))
    // Behind a mark that went back there is still a void to ship, though no record.
    if (
      last === prunedTo &&
      committedOffset >= last &&
      numbered <= last &&
      database.selectOpen(0, 1).length === 0
    ) {
      await journal.stop()
      return { kind: damaged ? 'unusable' : 'nothing', stream }
    }
    if (numbered > last) {
      log.error(
        { producer: folder.producer, numbered, last },
        'a journal lacks records that were counted; calls that were open in it may or may not be counted',
      )
      const isOfUse =
        committedOffset < last || (await readGaps()).some(({ from, to }) => journal.hasAnyOf(from, to))
      if (isOfUse) return { kind: 'adopted', journal, stream, damaged: true }
      await journal.stop()
      return { kind: 'unusable', stream }
    }
    const whole = await closeInterrupted(options, journal, database)
    await journal.flush()
    return { kind: 'adopted', journal, stream, damaged: damaged || !whole }
  } catch (error) {
    await journal.stop()
    throw error
  }
}

/** Turns open rows into records, each in the transaction that deletes its row. False: not all of them. */
async function closeInterrupted(
  { folder, buildInterrupted, log }: AdoptJournalOptions,
  journal: Journal,
  database: JournalDatabase,
): Promise<boolean> {
  const { producer } = folder
  if (database.getMeta('tail_lost') === 1) {
    log.error({ producer }, 'the end of a journal is unreadable; calls that were open in it are not counted')
    return false
  }
  let whole = true
  let slot = 0
  for (;;) {
    const rows = database.selectOpen(slot, SLICE_ROWS)
    const written = rows.map(async (row) => {
      const body = bodyOf(row, buildInterrupted)
      if (body !== null) return await closeSlot(journal, row.slot, body)
      whole = false
      log.error({ producer, call: row.call }, 'a call that was cut cannot be read and is not counted')
    })
    await Promise.all(written)
    const newest = rows.at(-1)
    if (newest === undefined) return whole
    slot = newest.slot
  }
}

function bodyOf(row: OpenRow, buildInterrupted: AdoptJournalOptions['buildInterrupted']): string | null {
  const open = parseOpenCall(row.call)
  if (open === null) return null
  try {
    return serialiseRecord(buildInterrupted(open, row.snapshot))
  } catch {
    return null
  }
}

function closeSlot(journal: Journal, slot: number, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    journal.closeSlot(slot, body, (error) => (error === null ? resolve() : reject(error)))
  })
}
