import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { isProducer } from '../entry.ts'
import { segmentNumbers } from './segments/format/frames.ts'

/** In a producer's folder: an empty SQLite file, held locked by who has the journal open. */
export const JOURNAL_FILE = 'journal.db'

/** A `journal.db` in which nothing is kept has one page, and no WAL. */
const EMPTY_BYTES = 4_096

/**
 * Release 0.1.0 kept records in `journal.db`, which no code here reads: a gateway that ignored them would lose calls
 * without a word.
 *
 * @throws Where the journal directory has such a journal.
 */
export function refuseOlderJournals(journalDir: string): void {
  if (!existsSync(journalDir)) return
  const older = readdirSync(journalDir).find(
    (name) => isProducer(name) && isOlderJournal(join(journalDir, name)),
  )
  if (older !== undefined)
    throw new Error(
      `${join(journalDir, older)} is a journal of release 0.1.0, which this release cannot read: drain it with 0.1.0 first`,
    )
}

/**
 * Tells whether the records of a folder are in its `journal.db`. No file is opened: closing one would release the locks
 * that this process has on it. A file that was garbled may look like an older journal, but there are segments beside
 * it.
 */
export function isOlderJournal(folder: string): boolean {
  const path = join(folder, JOURNAL_FILE)
  const isFull = (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > EMPTY_BYTES
  // `salvaged.db`: 0.1.0 was cut between two renames.
  if (!isFull && !existsSync(`${path}-wal`) && !existsSync(join(folder, 'salvaged.db'))) return false
  return segmentNumbers(readdirSync(folder)).length === 0
}
