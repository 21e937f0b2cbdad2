import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** In a producer's folder: an empty SQLite file that is locked while the producer or its adopter runs. */
export const LIVENESS_FILE = 'alive.db'

/** Proves that a folder's producer, or its adopter, runs. The kernel releases it when the process ends. */
export interface LivenessLock {
  release(): void
}

/** SQLite's primary result codes that decisions depend on; https://www.sqlite.org/rescode.html */
export const SQLITE_BUSY = 5
const SQLITE_CORRUPT = 11
const SQLITE_NOTADB = 26

/** The primary result code of an error of `node:sqlite`; 0 for any other error. */
export function sqliteResult(error: unknown): number {
  if (!(error instanceof Error) || !('errcode' in error)) return 0
  return typeof error.errcode === 'number' ? error.errcode & 0xff : 0
}

/** Tells whether SQLite failed because of the file's content, not because of the disk or a lock. */
export function isDamage(error: unknown): boolean {
  const result = sqliteResult(error)
  return result === SQLITE_CORRUPT || result === SQLITE_NOTADB
}

/**
 * Acquires the lock of a producer's folder; `null`: another process holds it. Throws when the folder is gone or
 * `alive.db` is not a SQLite file. While the lock is held, only SQLite may open the file: closing any descriptor of it
 * in this process would release the lock (POSIX).
 */
export function acquireLivenessLock(folder: string): LivenessLock | null {
  const database = new DatabaseSync(join(folder, LIVENESS_FILE), { timeout: 0 })
  try {
    // Nothing is ever committed, so the rollback journal may stay in memory.
    database.exec('pragma journal_mode = memory; begin exclusive')
  } catch (error) {
    database.close()
    if (sqliteResult(error) === SQLITE_BUSY) return null
    throw error
  }
  return { release: () => database.close() }
}

/**
 * The folder's lock, with a new lock file where the old one is missing or damaged. If the owner runs all the same, the
 * journal is found to be in use before anything is done with it.
 */
export function acquireAnyLock(folder: string): LivenessLock | null {
  try {
    return acquireLivenessLock(folder)
  } catch (error) {
    if (!isDamage(error)) throw error
    rmSync(join(folder, LIVENESS_FILE), { force: true })
    return acquireLivenessLock(folder)
  }
}
