import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { DAMAGED_FILE, JOURNAL_FILE } from '../../../recovery/producer-folder.ts'
import { JOURNAL_VERSION } from '../journal-database.ts'
import { isDamage, SQLITE_BUSY, sqliteResult } from '../sqlite-result.ts'
import { finishSalvage, salvage } from './salvage.ts'

/**
 * What the journal of a producer that is gone turned out to be.
 * `ready`: may be opened; its WAL is in the database. `damaged`: parts were lost, what could be read is in its
 * place. `in_use`: some process has it open though `alive.db` was free. `newer`: written by a later release.
 * `absent`: the folder has no journal. `unreadable`: nothing in it could be read.
 */
export type Prepared = 'ready' | 'damaged' | 'in_use' | 'newer' | 'absent' | 'unreadable'

/**
 * Makes a dead producer's journal fit to be opened on the event loop: recovers its WAL, checkpoints, checks every
 * page, and salvages what is readable where that finds damage. Blocks for as long as reading all of it takes: for
 * the thread only. The caller holds the folder's lock.
 */
export function prepareForAdoption(folder: string): Prepared {
  finishSalvage(folder)
  const path = join(folder, JOURNAL_FILE)
  if (!existsSync(path)) return existsSync(`${path}-wal`) ? 'unreadable' : 'absent'
  const sound = runChecks(path)
  if (sound === 'damaged') return salvage(folder) ? 'damaged' : 'unreadable'
  return sound === 'ready' && existsSync(join(folder, DAMAGED_FILE)) ? 'damaged' : sound
}

function runChecks(path: string): Prepared {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Exclusive: refused while any other process has the journal open, whatever became of its alive.db.
    database.exec('pragma locking_mode = exclusive; begin immediate; rollback')
    const version = Number(database.prepare('pragma user_version').get()?.user_version)
    if (version > JOURNAL_VERSION) return 'newer'
    if (version === 0) return isEmpty(database) ? 'absent' : 'damaged'
    database.exec('pragma wal_checkpoint(truncate)')
    const verdict = database.prepare('pragma quick_check(1)').get()?.quick_check
    return verdict === 'ok' ? 'ready' : 'damaged'
  } catch (error) {
    if (sqliteResult(error) === SQLITE_BUSY) return 'in_use'
    if (isDamage(error)) return 'damaged'
    throw error
  } finally {
    database.close()
  }
}

/** A producer that died before its tables were made has called nobody. */
function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('select 1 from sqlite_schema limit 1').get() === undefined
}
