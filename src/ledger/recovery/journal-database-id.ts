import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isMissingFile } from '../../lib/missing-file.ts'
import { writeDurably } from '../durable-file.ts'

/** In a producer's folder: the identity of the database that its records are counted in. */
export const DATABASE_FILE = 'database'

/** `null`: the folder is not bound to any. */
export async function readJournalDatabaseId(folder: string): Promise<string | null> {
  try {
    return (await readFile(join(folder, DATABASE_FILE), 'utf8')).trim() || null
  } catch (error) {
    if (isMissingFile(error)) return null
    throw error
  }
}

/** Survives power loss when it resolves. Only for who holds the folder's lock. */
export async function writeJournalDatabaseId(folder: string, database: string): Promise<void> {
  if ((await readJournalDatabaseId(folder)) !== database)
    await writeDurably(join(folder, DATABASE_FILE), `${database}\n`)
}

/** Whether what is bound to `bound` must not be looked for in, or counted by, the database `current`. */
export function isDatabaseMismatch(databaseId: string | null, current: string | null): boolean {
  return databaseId !== null && current !== null && databaseId !== current
}
