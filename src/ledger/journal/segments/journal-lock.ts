import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { isDamage, SQLITE_BUSY, sqliteResult } from '../../sqlite-result.ts'
import { isOlderJournal, JOURNAL_FILE } from '../older-journal.ts'

/**
 * The version that `journal.db` has where segments are the journal. Release 0.1.0 keeps records in it and knows
 * version 1: it leaves such a folder to a newer release, instead of deleting one that it finds empty.
 */
const SEGMENTS_DATABASE_VERSION = 2

/**
 * Holds a folder's journal for this process: `journal.db` is an empty SQLite file, locked while the journal is open.
 * So no process opens the journal of one that runs, even where its `alive.db` was deleted.
 */
export class JournalLock {
  readonly #database: DatabaseSync

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * `in_use`: another process holds it. `older`: release 0.1.0 keeps records in it. `newer`: a later release wrote it. A
   * file that is missing or damaged is made again: nothing is kept in it.
   *
   * @throws When the disk refuses.
   */
  static acquire(folder: string): JournalLock | 'in_use' | 'older' | 'newer' {
    if (isOlderJournal(folder)) return 'older'
    const path = join(folder, JOURNAL_FILE)
    try {
      return JournalLock.#lock(path)
    } catch (error) {
      if (!isDamage(error)) throw error
      for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
      return JournalLock.#lock(path)
    }
  }

  release(): void {
    this.#database.close()
  }

  static #lock(path: string): JournalLock | 'in_use' | 'newer' {
    const database = new DatabaseSync(path, { timeout: 0 })
    try {
      database.exec(
        'pragma locking_mode = exclusive; pragma journal_mode = memory; pragma synchronous = normal',
      )
      const version = Number(database.prepare('pragma user_version').get()?.user_version)
      if (version > SEGMENTS_DATABASE_VERSION) {
        database.close()
        return 'newer'
      }
      if (version < SEGMENTS_DATABASE_VERSION)
        database.exec(`pragma user_version = ${SEGMENTS_DATABASE_VERSION}`)
      database.exec('begin exclusive')
      return new JournalLock(database)
    } catch (error) {
      database.close()
      if (sqliteResult(error) === SQLITE_BUSY) return 'in_use'
      throw error
    }
  }
}
