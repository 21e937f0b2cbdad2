import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Prepared } from '../../journal-store.ts'
import { SEGMENTS_DATABASE_VERSION } from '../../segments/journal-lock.ts'
import { systemDisk } from '../../segments/log-disk.ts'
import { SEGMENT_BYTES } from '../../segments/segment-log.ts'
import { DAMAGED_FILE, JOURNAL_FILE } from '../journal-files.ts'
import { JOURNAL_VERSION } from '../journal-tables.ts'
import { isDamage, SQLITE_BUSY, sqliteResult } from '../sqlite-result.ts'
import { convertToSegments } from './convert.ts'
import type { ConversionOptions } from './converted-log.ts'
import { finishSalvage, salvage } from './salvage.ts'

const DEFAULTS: ConversionOptions = { disk: systemDisk, segmentBytes: SEGMENT_BYTES }

/**
 * Makes a journal of release 0.1.0 one of segments: recovers its WAL, checks every page, and writes what it has to
 * segments. Where a page is damaged, it salvages what is readable first. It blocks for as long as that takes, so only
 * the thread may call it. The caller holds the folder's lock. Killed anywhere, the next call begins again.
 *
 * @returns `ready` or `damaged`: the segments are the journal now.
 */
export function prepareOlder(folder: string, options: ConversionOptions = DEFAULTS): Prepared {
  finishSalvage(folder)
  const path = join(folder, JOURNAL_FILE)
  if (!existsSync(path)) return existsSync(`${path}-wal`) ? 'unreadable' : 'absent'
  let state = convert(path, folder, options)
  if (state === 'damaged') {
    if (!salvage(folder)) return 'unreadable'
    state = convert(path, folder, options)
  }
  return state === 'ready' && existsSync(join(folder, DAMAGED_FILE)) ? 'damaged' : state
}

function convert(path: string, folder: string, options: ConversionOptions): Prepared {
  const database = new DatabaseSync(path, { timeout: 0 })
  try {
    // Exclusive: refused while any other process has the journal open, even if its alive.db was deleted.
    database.exec('pragma locking_mode = exclusive; begin immediate; rollback')
    const version = Number(database.prepare('pragma user_version').get()?.user_version)
    if (version > SEGMENTS_DATABASE_VERSION) return 'newer'
    if (version === 0) return isEmpty(database) ? 'absent' : 'damaged'
    if (version === JOURNAL_VERSION) {
      database.exec('pragma wal_checkpoint(truncate)')
      const verdict = database.prepare('pragma quick_check(1)').get()?.quick_check
      if (verdict !== 'ok') return 'damaged'
      convertToSegments(database, folder, options)
    }
    // The file is small from now on, which is how the next adopter knows that nothing is in it.
    database.exec('pragma wal_checkpoint(truncate); pragma journal_mode = delete; vacuum')
    return 'ready'
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
