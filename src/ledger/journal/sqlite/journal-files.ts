/** Names inside a producer's folder. SQLite adds `-wal` and `-shm` to those of its databases. */
export const JOURNAL_FILE = 'journal.db'
/** What could be read of a damaged journal, until it takes that one's place. */
export const SALVAGED_FILE = 'salvaged.db'
/** The damaged journal, kept beside what could be read of it. */
export const DAMAGED_FILE = 'journal.db.corrupt'
