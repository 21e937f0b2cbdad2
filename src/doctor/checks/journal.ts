import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  DATABASE_FILE,
  isDatabaseMismatch,
  readJournalDatabaseId,
} from '../../ledger/recovery/journal-database-id.ts'
import { readJournalDirectory } from '../../ledger/recovery/producer-folder.ts'
import { isMissingFile } from '../../lib/missing-file.ts'
import { reasonOf } from '../explain-error.ts'
import { type Finding, failure, ok } from '../finding.ts'

/**
 * Checks the journals on this machine's disk.
 * @param database The identity of the database in use; `null`: unknown.
 */
export async function checkJournal(journalDir: string, database: string | null): Promise<Finding> {
  try {
    const { producers, corrupt } = readJournalDirectory(journalDir)
    const bytes = await sizeOf(journalDir)
    const detail = `${producers.length} in ${journalDir}, ${(bytes / 1_048_576).toFixed(1)} MiB`
    const databaseId = await Promise.all(
      producers.map((producer) => readJournalDatabaseId(join(journalDir, producer))),
    )
    const mismatched = databaseId.filter((one) => isDatabaseMismatch(one, database)).length
    if (mismatched > 0) {
      return failure(
        'journals',
        `${detail}; ${mismatched} belong to another database, and wait for a gateway that has it`,
        `start one with its DATABASE_URL; if that database is gone for good, delete the file ${DATABASE_FILE} in their folders`,
      )
    }
    if (corrupt === 0) return ok('journals', detail)
    return failure(
      'journals',
      `${detail}; ${corrupt} could not be read completely and were quarantined`,
      'look into the .corrupt folders there; what could be read was counted',
    )
  } catch (error) {
    if (isMissingFile(error)) return ok('journals', `none on this machine (${journalDir} is not there)`)
    return failure(
      'journals',
      `${journalDir}: ${reasonOf(error)}`,
      'correct JOURNAL_DIR, or the rights on it',
    )
  }
}

async function sizeOf(folder: string): Promise<number> {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    files
      .filter((file) => file.isFile())
      .map((file) => stat(join(file.parentPath, file.name)).then(({ size }) => size, sizeIfGone)),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** A journal may disappear during the check. */
function sizeIfGone(error: unknown): number {
  if (isMissingFile(error)) return 0
  throw error
}
