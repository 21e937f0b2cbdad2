import { existsSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import type { SequenceRange } from '../../domain/sequence-range.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Journal } from '../journal/sqlite/sqlite-journal.ts'
import { isDamage } from '../journal/sqlite/sqlite-result.ts'
import type { JournalWork } from '../journal/sqlite/thread/journal-work.ts'
import type { Producer } from '../shipping/producer.ts'
import { adoptJournal } from './adopt-journal.ts'
import { finishProducer } from './finish-producer.ts'
import { isDatabaseMismatch, readJournalDatabaseId, writeJournalDatabaseId } from './journal-database-id.ts'
import { acquireLivenessLock, LIVENESS_FILE, type LivenessLock } from './liveness-lock.ts'
import { type ProducerFolder, readJournalDirectory } from './producer-folder.ts'
import { readRetiredProducer } from './retired-producers.ts'

/** Each costs some descriptors and memory; the rest of many is taken as these are done. */
const MAX_ADOPTED = 64
/** A journal that cannot be adopted now is tried again, less and less often. */
const RETRY_MIN_MS = 5_000
const RETRY_MAX_MS = 300_000
const READ_LIMIT_MS = 5_000

export interface AdoptionOptions {
  readonly journalDir: string
  /** This process's own producer, never adopted. */
  readonly ownProducer: string
  /** Where this process's own records go; those of a producer that nothing tells of went there, too. */
  readonly ownStream: string
  readonly work: JournalWork
  readonly buildInterrupted: (open: OpenCall, snapshot: string | null) => CallRecord
  /** Marks in Postgres now; rejects when it is away. */
  readonly readCommittedOffsets: (producers: readonly string[]) => Promise<ReadonlyMap<string, number>>
  readonly readGaps: (producer: string) => Promise<readonly SequenceRange[]>
  /** The identity of the database that answers; `null`: it has none. Rejects when it is away. */
  readonly readDatabase: () => Promise<string | null>
  /** Takes a journal into care: ships and forgets. */
  readonly take: (
    folder: ProducerFolder,
    journal: Journal,
    stream: string,
    committedOffset: number,
  ) => Producer
  readonly log: Logger
}

interface Adopted {
  readonly producer: Producer
  /** Something in it could not be read: in the end its folder is kept. */
  readonly damaged: boolean
}

/** Finds the journals of producers that are gone and has them in its care until nothing in them is needed. */
export class Adoption {
  readonly #options: AdoptionOptions
  readonly #adopted = new Map<string, Adopted>()
  readonly #retries = new Map<string, { readonly atMs: number; readonly delayMs: number }>()
  /** Producers of another database, of which the log was told. */
  readonly #mismatched = new Set<string>()
  #corrupt = 0
  #scanningStopped = false

  constructor(options: AdoptionOptions) {
    this.#options = options
  }

  get producers(): Producer[] {
    return [...this.#adopted.values()].map(({ producer }) => producer)
  }

  /** How many are in its care. */
  get size(): number {
    return this.#adopted.size
  }

  /** How many folders were set aside in the journal directory, by whomever. */
  get corrupt(): number {
    return this.#corrupt
  }

  /** Looks for journals whose producer is gone and adopts them. */
  async scan(): Promise<void> {
    const { journalDir, readCommittedOffsets, readDatabase, log } = this.#options
    const directory = readJournalDirectory(journalDir)
    this.#corrupt = directory.corrupt
    for (const leftover of directory.leftovers) await rm(leftover, { recursive: true, force: true })
    for (const producer of this.#retries.keys()) {
      if (!directory.producers.includes(producer)) this.#retries.delete(producer)
    }
    const folders: ProducerFolder[] = []
    for (const producer of directory.producers) {
      if (this.#adopted.size + folders.length >= MAX_ADOPTED) break
      const folder = this.#tryLock(producer)
      if (folder !== null) folders.push(folder)
    }
    if (folders.length === 0) return
    let committedOffsets: ReadonlyMap<string, number>
    let database: string | null
    try {
      // Before any is touched: a journal that has fallen behind its mark must not number new records.
      const asked = folders.map(({ producer }) => producer)
      const answers = Promise.all([readCommittedOffsets(asked), readDatabase()])
      ;[committedOffsets, database] = await withinDeadline(answers, READ_LIMIT_MS)
    } catch (error) {
      for (const { lock } of folders) lock.release()
      if (!this.#scanningStopped)
        log.warn({ err: error, journals: folders.length }, 'journals wait for Postgres to be adopted')
      return
    }
    for (const folder of folders)
      await this.#adopt(folder, committedOffsets.get(folder.producer) ?? 0, database)
  }

  /** Deletes the folders of those of which nothing is needed any more. */
  async releaseEmpty(): Promise<void> {
    for (const { producer, damaged } of [...this.#adopted.values()]) {
      if (!producer.isEmpty) continue
      try {
        await producer.journal.shrink()
        await producer.stop()
        this.#adopted.delete(producer.id)
        await this.#finish(
          producer.folder,
          Math.max(producer.journal.last, producer.committedOffset),
          producer.stream,
          damaged,
        )
      } catch (error) {
        this.#postpone(producer.id, error)
      }
    }
  }

  /** Adopts no more. */
  stopScanning(): void {
    this.#scanningStopped = true
  }

  /** Lets go of all, after `halt` and the last `scan`; they wait for the next adopter. */
  async releaseAll(): Promise<void> {
    for (const { producer } of this.#adopted.values()) {
      await producer.stop()
      producer.folder.lock.release()
    }
    this.#adopted.clear()
  }

  #tryLock(producer: string): ProducerFolder | null {
    const { journalDir, ownProducer } = this.#options
    if (producer === ownProducer || this.#adopted.has(producer)) return null
    if (performance.now() < (this.#retries.get(producer)?.atMs ?? 0)) return null
    const path = join(journalDir, producer)
    try {
      const lock = acquireAnyLock(path)
      return lock === null ? null : { producer, path, lock }
    } catch (error) {
      if (existsSync(path)) this.#postpone(producer, error) // Else another adopter has finished it meanwhile.
      return null
    }
  }

  async #adopt(folder: ProducerFolder, committedOffset: number, database: string | null): Promise<void> {
    const { journalDir, ownStream, take, log, work, buildInterrupted, readGaps } = this.#options
    const { producer } = folder
    if (this.#scanningStopped) return folder.lock.release()
    try {
      const databaseId = await readJournalDatabaseId(folder.path)
      if (isDatabaseMismatch(databaseId, database)) return this.#skipForeign(folder, databaseId, database)
      if (database !== null) await writeJournalDatabaseId(folder.path, database)
      const adopted = await adoptJournal({
        folder,
        committedOffset,
        numbered: Math.max(committedOffset, (await readRetiredProducer(journalDir, producer))?.last ?? 0),
        readGaps: () => withinDeadline(readGaps(producer), READ_LIMIT_MS),
        work,
        buildInterrupted,
        onSynced: () => this.#adopted.get(producer)?.producer.wake(),
        log,
      })
      if (adopted.kind !== 'adopted')
        return await this.#finish(
          folder,
          committedOffset,
          adopted.stream ?? ownStream,
          adopted.kind === 'unusable',
        )
      const { journal, stream, damaged } = adopted
      const records = Math.max(journal.last - committedOffset, 0)
      this.#adopted.set(producer, { producer: take(folder, journal, stream, committedOffset), damaged })
      this.#retries.delete(producer)
      log.info({ producer, records, damaged }, 'adopted the journal of a producer that is gone')
    } catch (error) {
      folder.lock.release()
      this.#postpone(producer, error)
    }
  }

  /** Its records may be in the totals of its own database, or belong there: it waits for a gateway that has that. */
  #skipForeign({ producer, lock }: ProducerFolder, databaseId: string | null, database: string | null): void {
    lock.release()
    this.#retries.set(producer, { atMs: performance.now() + RETRY_MAX_MS, delayMs: RETRY_MAX_MS })
    if (this.#mismatched.has(producer)) return
    this.#mismatched.add(producer)
    this.#options.log.error(
      { producer, bound: databaseId, database },
      'a journal belongs to another database and is left alone',
    )
  }

  /**
   * The folder is of no more use to us: deleted, or kept under another name; the lock is held to the end.
   *
   * @param counted up to where Postgres has its records.
   */
  async #finish(folder: ProducerFolder, counted: number, stream: string, keep: boolean): Promise<void> {
    const { journalDir, log } = this.#options
    const { producer, lock } = folder
    try {
      const path = await finishProducer(journalDir, { folder, last: counted, stream }, keep)
      if (path === null) return
      log.error({ producer, path }, 'a journal that was damaged is set aside')
      this.#corrupt++
    } finally {
      lock.release()
    }
  }

  #postpone(producer: string, error: unknown): void {
    const delayMs = this.#retries.get(producer)?.delayMs ?? RETRY_MIN_MS
    this.#retries.set(producer, {
      atMs: performance.now() + delayMs,
      delayMs: Math.min(delayMs * 2, RETRY_MAX_MS),
    })
    this.#options.log.warn(
      { err: error, producer, retryInMs: delayMs },
      'a journal could not be adopted or let go',
    )
  }
}

/**
 * The folder's lock, with a new lock file where the old one is missing or no SQLite file. Should its owner live
 * all the same, the journal itself is found to be in use before anything is done with it.
 */
function acquireAnyLock(folder: string): LivenessLock | null {
  try {
    return acquireLivenessLock(folder)
  } catch (error) {
    if (!isDamage(error)) throw error
    rmSync(join(folder, LIVENESS_FILE), { force: true })
    return acquireLivenessLock(folder)
  }
}
