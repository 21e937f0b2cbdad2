import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../lib/logger.ts'
import type { JournalStore } from '../journal/journal-store.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import type { Producers } from '../shipping/producers.ts'
import { adoptJournal, type BuildInterrupted } from './adopt-journal.ts'
import { AdoptedProducers } from './adopted-producers.ts'
import { isDatabaseMismatch, readJournalDatabaseId, writeJournalDatabaseId } from './journal-database-id.ts'
import { acquireAnyLock } from './liveness-lock.ts'
import { type ProducerFolder, readJournalDirectory } from './producer-folder.ts'
import { readRetiredProducer } from './retired-producers.ts'
import { RetryTimes } from './retry-times.ts'

/** Each costs some descriptors and memory. Where there are more, the rest is adopted as these are done. */
const MAX_ADOPTED = 64

export interface AdoptionOptions {
  readonly journalDir: string
  /** This process's own producers, never adopted. */
  readonly ownProducers: readonly string[]
  /** Taken for the stream of a producer whose own is not known. */
  readonly ownStream: string
  readonly journals: JournalStore
  readonly buildInterrupted: BuildInterrupted
  readonly database: LedgerDatabase
  /** Ships the adopted journals. */
  readonly producers: Producers
  readonly log: Logger
}

/** Finds the journals of dead producers and manages them until nothing in them is needed. */
export class Adoption {
  readonly #options: AdoptionOptions
  readonly #adopted: AdoptedProducers
  readonly #retries = new RetryTimes()
  /** Producers of another database that the log has named. */
  readonly #foreign = new Set<string>()
  #stopped = false

  constructor(options: AdoptionOptions) {
    this.#options = options
    this.#adopted = new AdoptedProducers(options)
  }

  /** Folders of the producers that are adopted. */
  get folders(): readonly ProducerFolder[] {
    return this.#adopted.folders
  }

  /** How many producers are adopted. */
  get size(): number {
    return this.#adopted.size
  }

  /** How many folders of the journal directory are quarantined, by any process. */
  get corrupt(): number {
    return this.#adopted.corrupt
  }

  /** Finds journals whose producer is dead and adopts them. */
  async scan(): Promise<void> {
    const { journalDir } = this.#options
    const directory = readJournalDirectory(journalDir)
    this.#adopted.corrupt = directory.corrupt
    for (const leftover of directory.leftovers) await rm(leftover, { recursive: true, force: true })
    this.#retries.keepOnly(directory.producers)
    const folders: ProducerFolder[] = []
    for (const producer of directory.producers) {
      if (this.#adopted.size + folders.length >= MAX_ADOPTED) break
      const folder = this.#tryLock(producer)
      if (folder !== null) folders.push(folder)
    }
    if (folders.length > 0) await this.#adoptAll(folders)
  }

  /** Deletes the folders of those of which nothing is needed any more. */
  async releaseEmpty(): Promise<void> {
    for (const adopted of this.#adopted.all) {
      if (!adopted.producer.isEmpty) continue
      try {
        await this.#adopted.finish(adopted)
      } catch (error) {
        this.#postpone(adopted.producer.id, error)
      }
    }
  }

  /** Adopts no more. */
  stopScanning(): void {
    this.#stopped = true
  }

  /** Closes all journals, after `stopScanning` and the last `scan`. The next adopter finds them. */
  async releaseAll(): Promise<void> {
    await this.#adopted.releaseAll()
  }

  #tryLock(producer: string): ProducerFolder | null {
    const { journalDir, ownProducers } = this.#options
    if (ownProducers.includes(producer) || this.#adopted.has(producer)) return null
    if (!this.#retries.isDue(producer)) return null
    const path = join(journalDir, producer)
    try {
      const lock = acquireAnyLock(path)
      return lock === null ? null : { producer, path, lock }
    } catch (error) {
      if (existsSync(path)) this.#postpone(producer, error) // Else another adopter has finished it meanwhile.
      return null
    }
  }

  async #adoptAll(folders: readonly ProducerFolder[]): Promise<void> {
    const { database, log } = this.#options
    let offsets: ReadonlyMap<string, number>
    let databaseId: string | null
    try {
      // Before any is touched: a journal that is behind its committed offset must not number new records.
      const asked = folders.map(({ producer }) => producer)
      const answers = [database.readCommittedOffsets(asked), database.readDatabaseId()] as const
      ;[offsets, databaseId] = await Promise.all(answers)
    } catch (error) {
      for (const { lock } of folders) lock.release()
      if (!this.#stopped)
        log.warn(
          { event: 'adoption.postponed', err: error, journals: folders.length },
          'journals cannot be adopted before Postgres answers; it is tried again',
        )
      return
    }
    for (const folder of folders) await this.#adopt(folder, offsets.get(folder.producer) ?? 0, databaseId)
  }

  async #adopt(folder: ProducerFolder, committedOffset: number, databaseId: string | null): Promise<void> {
    const { journalDir, ownStream, producers, log, journals, buildInterrupted, database } = this.#options
    const { producer } = folder
    if (this.#stopped) return folder.lock.release()
    try {
      const bound = await readJournalDatabaseId(folder.path)
      if (isDatabaseMismatch(bound, databaseId)) return this.#skipForeign(folder, bound, databaseId)
      if (databaseId !== null) await writeJournalDatabaseId(folder.path, databaseId)
      const retired = await readRetiredProducer(journalDir, producer)
      const numbered = Math.max(committedOffset, retired?.last ?? 0)
      const found = await adoptJournal({
        folder,
        committedOffset,
        numbered,
        journals,
        database,
        buildInterrupted,
        log,
      })
      if (found.kind !== 'adopted')
        return await this.#adopted.finishFolder(
          folder,
          committedOffset,
          found.stream ?? ownStream,
          found.kind === 'unusable',
        )
      const { journal, damaged } = found
      const records = Math.max(journal.last - committedOffset, 0)
      const added = producers.add({ id: producer, journal, stream: journal.stream, committedOffset })
      this.#adopted.add({ producer: added, folder, damaged })
      this.#retries.clear(producer)
      log.info(
        { event: 'adoption.done', producer, records, damaged },
        'the records of a producer that is gone were taken over',
      )
    } catch (error) {
      folder.lock.release()
      this.#postpone(producer, error)
    }
  }

  /** Its records may be in the totals of its own database, or belong there: it waits for a gateway that has that. */
  #skipForeign({ producer, lock }: ProducerFolder, bound: string | null, database: string | null): void {
    lock.release()
    this.#retries.postponeLong(producer)
    if (this.#foreign.has(producer)) return
    this.#foreign.add(producer)
    this.#options.log.error(
      { event: 'adoption.foreign_journal', producer, bound, database },
      'a journal belongs to another database and stays as it is',
    )
  }

  #postpone(producer: string, error: unknown): void {
    const retryInMs = this.#retries.postpone(producer)
    this.#options.log.warn(
      { event: 'adoption.postponed', err: error, producer, retryInMs },
      'a journal could not be adopted or released; it is tried again',
    )
  }
}
