import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import { parseOpenCall, serialiseRecord } from '../../call/codec/record-codec.ts'
import type { Logger } from '../../lib/logger.ts'
import { writeDurably } from '../durable-file.ts'
import type { DeadJournal, InterruptedRow, JournalStore } from '../journal/journal-store.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import type { ProducerFolder } from './producer-folder.ts'

/** Open calls turned into records in one transaction. */
const SLICE_ROWS = 200
/** The log line has so many of the calls that are not counted, as they were written. */
const NAMED_CALLS = 100

/** Builds the record of a call that a crash cut, from the open call and its last usage snapshot. */
export type BuildInterrupted = (open: OpenCall, snapshot: string | null) => CallRecord

export interface AdoptJournalOptions {
  /** Its lock is ours. */
  readonly folder: ProducerFolder
  /** The producer's committed offset in Postgres, read while its lock was ours. */
  readonly committedOffset: number
  /** The highest of its sequences that is known to be used: at least the committed offset. */
  readonly numbered: number
  readonly journals: JournalStore
  readonly database: Pick<LedgerDatabase, 'readGaps'>
  readonly buildInterrupted: BuildInterrupted
  readonly log: Logger
}

/**
 * The outcome of an adoption. `adopted`: calls that were under way are records now; ship them all. `nothing`: there is
 * nothing to ship or to keep. `unusable`: cannot be shipped; the log says what that means.
 */
export type AdoptedJournal =
  | {
      readonly kind: 'adopted'
      readonly journal: DeadJournal
      /** It is not all that its producer wrote. */
      readonly damaged: boolean
    }
  | {
      readonly kind: 'nothing' | 'unusable'
      /** The producer's stream; `null`: not known. */
      readonly stream: string | null
    }

/** Opens the journal of a dead producer. Rejects where another try, later, may do better. */
export async function adoptJournal(options: AdoptJournalOptions): Promise<AdoptedJournal> {
  const { folder, journals, log, numbered } = options
  const prepared = await journals.prepare(folder.path)
  switch (prepared) {
    case 'ready':
    case 'damaged':
      return await openJournal(options, prepared === 'damaged')
    case 'absent':
      if (numbered === 0) return { kind: 'nothing', stream: null }
      // Its WAL had everything and is garbled from its beginning; or the file was deleted by hand.
      log.error(
        { event: 'adoption.journal_missing', producer: folder.producer, numbered },
        'a journal is gone; what it had not shipped is lost',
      )
      return { kind: 'unusable', stream: null }
    case 'unreadable':
      log.error(
        { event: 'adoption.journal_unreadable', producer: folder.producer },
        'a journal is unreadable; what it had not shipped is lost',
      )
      return { kind: 'unusable', stream: null }
    case 'in_use':
      throw new Error('its lock is free, but a process has the journal open')
    case 'older':
      throw new Error('it was written by release 0.1.0, which is to drain it')
    case 'newer':
      throw new Error('it was written by a newer release')
  }
}

/** In a dead producer's folder: what an adopter has logged about calls that are not counted, a line of JSON. */
const ABANDONED_FILE = 'abandoned'

/** The fault of a journal in which calls were open. */
interface AbandonedCalls {
  readonly message: string
  /** Says which loss it is. A journal that loses more later is logged again. */
  readonly loss: Readonly<Record<string, number | boolean>>
  /** Beside the loss in the log's line. */
  readonly details?: object
}

/**
 * Logs that calls of a dead producer may not be counted, once: a journal is kept for a while, and each gateway that
 * starts meanwhile adopts it again. The caller holds the folder's lock.
 */
async function logAbandonedCalls(
  { path, producer }: Pick<ProducerFolder, 'path' | 'producer'>,
  { message, loss, details }: AbandonedCalls,
  log: Logger,
): Promise<void> {
  const file = join(path, ABANDONED_FILE)
  const said = `${JSON.stringify(loss)}\n`
  if ((await textOf(file)) === said) return
  log.error({ event: 'adoption.abandoned_calls', producer, ...loss, ...details }, message)
  // A disk that does not take it has the next adopter say it again: better than no adoption.
  await writeDurably(file, said).catch(() => {})
}

/** `null`: nothing was said, or it cannot be read. */
async function textOf(file: string): Promise<string | null> {
  return await readFile(file, 'utf8').catch(() => null)
}

async function openJournal(options: AdoptJournalOptions, damaged: boolean): Promise<AdoptedJournal> {
  const { folder, journals, log, committedOffset, numbered, database } = options
  const journal = journals.reopen(folder.path)
  try {
    const { last, prunedTo, stream } = journal
    const hasInterrupted = journal.selectInterrupted(0, 1).length > 0
    // Behind a committed offset that regressed there is still a gap marker to ship, though no record.
    if (last === prunedTo && committedOffset >= last && numbered <= last && !hasInterrupted) {
      await journal.stop()
      return { kind: damaged ? 'unusable' : 'nothing', stream }
    }
    if (numbered > last) {
      const message =
        'a journal lacks records that were counted; calls that were open in it may or may not have been counted'
      await logAbandonedCalls(folder, { message, loss: { last }, details: { numbered } }, log)
      const gaps = committedOffset < last ? [] : await database.readGaps(folder.producer)
      const isUseful = committedOffset < last || gaps.some(({ from, to }) => journal.hasAnyOf(from, to))
      if (isUseful) return { kind: 'adopted', journal, damaged: true }
      await journal.stop()
      return { kind: 'unusable', stream }
    }
    const whole = await closeInterrupted(options, journal)
    await journal.flush()
    return { kind: 'adopted', journal, damaged: damaged || !whole }
  } catch (error) {
    await journal.stop()
    throw error
  }
}

/** Turns calls that were open into records, each in the transaction that deletes its row. False: not all of them. */
async function closeInterrupted(
  { folder, buildInterrupted, log }: AdoptJournalOptions,
  journal: DeadJournal,
): Promise<boolean> {
  const { producer } = folder
  if (journal.isTailLost) {
    const message = 'the end of a journal is unreadable; calls that were open in it are not counted'
    await logAbandonedCalls(folder, { message, loss: { tailLost: true } }, log)
    return false
  }
  const { doubted, unknown } = journal
  let whole = doubted.length === 0 && unknown === 0
  if (!whole) {
    const message = 'parts of a journal are unreadable; calls that may have ended there are not counted'
    const details = { calls: doubted.slice(0, NAMED_CALLS) }
    await logAbandonedCalls(folder, { message, loss: { doubted: doubted.length, unknown }, details }, log)
  }
  let slot = 0
  for (;;) {
    const rows = journal.selectInterrupted(slot, SLICE_ROWS)
    const written = rows.map(async (row) => {
      const body = buildBody(row, buildInterrupted)
      if (body !== null) return await close(journal, row, body)
      whole = false
      log.error(
        { event: 'adoption.unreadable_call', producer, call: row.call },
        'a call that a crash cut cannot be read and is not counted',
      )
    })
    await Promise.all(written)
    const newest = rows.at(-1)
    if (newest === undefined) return whole
    slot = newest.slot
  }
}

/** The record's text; `null`: the call cannot be read or made into a record. */
function buildBody({ call, snapshot }: InterruptedRow, buildInterrupted: BuildInterrupted): string | null {
  const open = parseOpenCall(call)
  if (open === null) return null
  try {
    return serialiseRecord(buildInterrupted(open, snapshot))
  } catch {
    return null
  }
}

function close(journal: DeadJournal, row: InterruptedRow, body: string): Promise<void> {
  return new Promise((resolve, reject) => {
    journal.closeInterrupted(row, body, (error) => (error === null ? resolve() : reject(error)))
  })
}
