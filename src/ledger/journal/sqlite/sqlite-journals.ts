import { join } from 'node:path'
import type { Logger } from '../../../lib/logger.ts'
import type { DiskReserve } from '../disk-reserve.ts'
import type { Journal } from '../journal.ts'
import type { DeadJournal, JournalStore, Prepared } from '../journal-store.ts'
import { JournalDatabase } from './journal-database.ts'
import { JOURNAL_FILE } from './journal-files.ts'
import { SqliteJournal } from './sqlite-journal.ts'
import { JournalWork } from './thread/journal-work.ts'

/** Journals as SQLite databases, one `journal.db` in each producer's folder; one thread for all of them. */
export class SqliteJournals implements JournalStore {
  readonly #log: Logger
  readonly #work = new JournalWork()

  constructor(log: Logger) {
    this.#log = log
  }

  create(folder: string, stream: string, reserve: DiskReserve): Journal {
    const path = join(folder, JOURNAL_FILE)
    return this.#open(path, new JournalDatabase(path, stream), reserve)
  }

  async prepare(folder: string): Promise<Prepared> {
    return await this.#work.prepare(folder)
  }

  reopen(folder: string): DeadJournal {
    const path = join(folder, JOURNAL_FILE)
    return this.#open(path, new JournalDatabase(path), null)
  }

  async stop(): Promise<void> {
    await this.#work.stop()
  }

  #open(path: string, database: JournalDatabase, reserve: DiskReserve | null): SqliteJournal {
    try {
      return new SqliteJournal({ path, database, work: this.#work, reserve, log: this.#log })
    } catch (error) {
      database.close()
      throw error
    }
  }
}
