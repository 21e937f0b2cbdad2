import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { SQLITE_BUSY, sqliteResult } from '../journal/sqlite/sqlite-result.ts'

export const LIVENESS_FILE = 'alive.db'

/** The sign that a folder's producer, or its adopter, lives. The kernel takes it back when the process ends. */
export interface LivenessLock {
  release(): void
}

/**
 * Takes the lock of a producer's folder; `null`: somebody lives. Throws when the folder is gone or `alive.db` is
 * no SQLite file. The file must not be opened by other means than SQLite while the lock is held: closing any
 * descriptor of it in this process would drop the lock (POSIX).
 */
export function acquireLivenessLock(folder: string): LivenessLock | null {
  const database = new DatabaseSync(join(folder, LIVENESS_FILE), { timeout: 0 })
  try {
    // Nothing is ever committed, so the rollback journal need be no file.
    database.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    database.close()
    if (sqliteResult(error) === SQLITE_BUSY) return null
    throw error
  }
  return { release: () => database.close() }
}
