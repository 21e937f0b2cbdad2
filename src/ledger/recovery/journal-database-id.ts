import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../lib/logger.ts'
import { isMissingFile } from '../../lib/missing-file.ts'
import { writeDurably } from '../durable-file.ts'
import type { LedgerDatabase } from '../ledger-database.ts'

/** In a producer's folder: the identity of the database that its records are counted in. */
export const DATABASE_FILE = 'database'

/** `null`: the folder is not bound to a database. */
export async function readJournalDatabaseId(folder: string): Promise<string | null> {
  try {
    return (await readFile(join(folder, DATABASE_FILE), 'utf8')).trim() || null
  } catch (error) {
    if (isMissingFile(error)) return null
    throw error
  }
}

/** Survives power loss when it resolves. The caller must hold the folder's lock. */
export async function writeJournalDatabaseId(folder: string, database: string): Promise<void> {
  if ((await readJournalDatabaseId(folder)) !== database)
    await writeDurably(join(folder, DATABASE_FILE), `${database}\n`)
}

/** Tells whether what is bound to `databaseId` must not be looked for in, or counted by, the database `current`. */
export function isDatabaseMismatch(databaseId: string | null, current: string | null): boolean {
  return databaseId !== null && current !== null && databaseId !== current
}

/**
 * Binds the journals of this process to the database whose offsets they follow. When another database takes its place
 * while the process runs, that is as if ours was restored to its beginning: what journals still have goes there, the
 * rest is recorded as a gap.
 */
export class DatabaseBinding {
  readonly #database: Pick<LedgerDatabase, 'readDatabaseId'>
  readonly #onAnswered: (database: string) => void
  readonly #log: Logger
  /** The identity of the database that answered last; `null`: none has yet. */
  #current: string | null = null

  /** @param onAnswered gets the identity whenever it is another one than before. */
  constructor(
    database: Pick<LedgerDatabase, 'readDatabaseId'>,
    onAnswered: (database: string) => void,
    log: Logger,
  ) {
    this.#database = database
    this.#onAnswered = onAnswered
    this.#log = log
  }

  /**
   * Binds folders to the database that answers. Rejects when Postgres or the disk does not answer.
   *
   * @param folders those of this process when the answer is there: a journal may be adopted meanwhile.
   * @returns the identity of the database; `null`: not known.
   */
  async bind(folders: () => readonly string[]): Promise<string | null> {
    const database = await this.#database.readDatabaseId()
    if (database === null || database === this.#current) return this.#current
    if (this.#current !== null)
      this.#log.error(
        { event: 'ledger.database_changed', before: this.#current, database },
        'another database answers than before',
      )
    this.#onAnswered(database)
    for (const folder of folders()) await writeJournalDatabaseId(folder, database)
    this.#current = database
    return database
  }
}
