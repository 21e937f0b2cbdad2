import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Names inside a producer's folder. SQLite adds `-wal` and `-shm` to those of its databases. */
export const JOURNAL_FILE = 'journal.db'
/** What could be read of a damaged journal, until it takes that one's place. */
export const SALVAGED_FILE = 'salvaged.db'
/** The damaged journal, kept beside what could be read of it. */
export const DAMAGED_FILE = 'journal.db.corrupt'

/** A `journal.db` in which nothing is kept has one page, and no WAL. */
const EMPTY_BYTES = 4_096

/**
 * Whether the records of a folder may be in its `journal.db`, as release 0.1.0 kept them. No file is opened: closing
 * one would release the locks that this process has on it.
 */
export function isOlderJournal(folder: string): boolean {
  const path = join(folder, JOURNAL_FILE)
  if (existsSync(`${path}-wal`) || existsSync(join(folder, SALVAGED_FILE))) return true
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > EMPTY_BYTES
}
