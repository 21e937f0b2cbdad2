import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Prepared } from '../../journal-store.ts'
import { DAMAGED_FILE, JOURNAL_FILE } from '../journal-files.ts'
import { JOURNAL_VERSION } from '../journal-tables.ts'
import { isDamage, SQLITE_BUSY, sqliteResult } from '../sqlite-result.ts'
import { finishSalvage, salvage } from './salvage.ts'

/**
 * Makes a dead producer's journal fit to be opened on the event loop: recovers its WAL, checkpoints it and checks every
 * page. Where that finds damage, it salvages what is readable. It blocks for as long as reading everything takes, so
 * only the thread may call it. The caller holds the folder's lock.
 */
export function prepareForAdoption(folder: string): Prepared {
  finishSalvage(folder)
  const path = join(folder, JOURNAL_FILE)
  if (!existsSync(path)) return existsSync(`${path}-wal`) ? 'unreadable' : 'absent'
  const state = inspectJournal(path)
  if (state === 'damaged') return salvage(folder) ? 'damaged' : 'unreadable'
  return state === 'ready' && existsSync(join(folder, DAMAGED_FILE)) ? 'damaged' : state
}

function inspectJournal(path: string): Prepared {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Exclusive: refused while any other process has the journal open, even if its alive.db was deleted.
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

/** A producer that died before its tables were created has sent no call upstream. */
function isEmpty(database: DatabaseSync): boolean {
  return database.prepare('select 1 from sqlite_schema limit 1').get() === undefined
}
