import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from '../../lib/logger.ts'
import type { JournalStore } from '../journal/journal-store.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import type { OffsetReading } from '../shipping/committed-offset-reader.ts'
import type { Producers } from '../shipping/producers.ts'
import { adoptJournal, type BuildInterrupted } from './adopt-journal.ts'
import { type AdoptedProducer, AdoptedProducers } from './adopted-producers.ts'
import { isDatabaseMismatch, readJournalDatabaseId, writeJournalDatabaseId } from './journal-database-id.ts'
import { acquireAnyLock } from './liveness-lock.ts'
import { type ProducerFolder, readJournalDirectory } from './producer-folder.ts'
import {
  type CountedJournal,
  RestingProducers,
  readCountedFile,
  writeCountedFile,
} from './resting-producers.ts'
import { readRetiredProducer } from './retired-producers.ts'

/**
 * Each costs some descriptors and memory. Where there are more, those rest of which everything was counted, and which
 * would only wait for their keep time.
 */
const MAX_ADOPTED = 64
const OFFSETS_AT_ONCE = 1_000

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
  /** How long committed records are kept. */
  readonly keepMs: number
  readonly log: Logger
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** A journal that cannot be adopted now is tried again, less and less often. */
const RETRY_MIN_MS = 5_000
const RETRY_MAX_MS = 300_000

/** When each producer's journal may be tried again. By the monotonic clock. */
class RetryTimes {
  readonly #times = new Map<string, { readonly atMs: number; readonly delayMs: number }>()

  /** Tells whether the journal may be tried now. */
  isDue(producer: string): boolean {
    return performance.now() >= (this.#times.get(producer)?.atMs ?? 0)
  }

  /** A try failed. Returns the milliseconds until the next one. */
  postpone(producer: string): number {
    const delayMs = this.#times.get(producer)?.delayMs ?? RETRY_MIN_MS
    const nextDelayMs = Math.min(delayMs * 2, RETRY_MAX_MS)
    this.#times.set(producer, { atMs: performance.now() + delayMs, delayMs: nextDelayMs })
    return delayMs
  }

  /** Only something outside can change what was found: the longest time passes before the next try. */
  postponeLong(producer: string): void {
    this.#times.set(producer, { atMs: performance.now() + RETRY_MAX_MS, delayMs: RETRY_MAX_MS })
  }

  clear(producer: string): void {
    this.#times.delete(producer)
  }

  /** Drops the times of all producers but these. */
  keepOnly(producers: readonly string[]): void {
    for (const producer of this.#times.keys()) if (!producers.includes(producer)) this.#times.delete(producer)
  }
}

/** Finds the journals of dead producers and manages them until nothing in them is needed. */
export class Adoption {
  readonly #options: AdoptionOptions
  readonly #adopted: AdoptedProducers
  readonly #resting: RestingProducers
  readonly #retries = new RetryTimes()
  /** Producers of another database that the log has named. */
  readonly #foreign = new Set<string>()
  /** Producers whose folders were inspected for a `counted` file. */
  #inspected: ReadonlySet<string> = new Set()
  #stopped = false

  constructor(options: AdoptionOptions) {
    this.#options = options
    this.#adopted = new AdoptedProducers(options)
    this.#resting = new RestingProducers(options.keepMs, options.now)
  }

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
    this.#resting.keepOnly(directory.producers)
    await this.#findResting(directory.producers)
    let folders: ProducerFolder[] = []
    for (const producer of directory.producers) {
      const folder = this.#tryLock(producer)
      if (folder === null) continue
      if (this.#adopted.size + folders.length >= MAX_ADOPTED) {
        const isRoom = (await this.#adoptAll(folders)) && (await this.#makeRoom())
        folders = []
        if (!isRoom) {
          folder.lock.release()
          return
        }
      }
      folders.push(folder)
    }
    await this.#adoptAll(folders)
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
    if (this.#resting.isWaiting(producer) || !this.#retries.isDue(producer)) return null
    const path = join(journalDir, producer)
    try {
      const lock = acquireAnyLock(path)
      return lock === null ? null : { producer, path, lock }
    } catch (error) {
      if (existsSync(path)) this.#postpone(producer, error) // Else another adopter has finished it meanwhile.
      return null
    }
  }

  /** Compares those that rest with what Postgres has now, and finds those that another process left so. */
  async #findResting(producers: readonly string[]): Promise<void> {
    const { journalDir, database, ownProducers } = this.#options
    const found = new Map<string, CountedJournal>()
    for (const producer of producers) {
      if (this.#inspected.has(producer) || ownProducers.includes(producer)) continue
      const counted = await readCountedFile(join(journalDir, producer))
      if (counted !== null) found.set(producer, counted)
    }
    try {
      const asked = [...found.keys(), ...this.#resting.ids]
      for (let at = 0; at < asked.length; at += OFFSETS_AT_ONCE) {
        const batch = asked.slice(at, at + OFFSETS_AT_ONCE)
        const offsets = await database.readCommittedOffsets(batch)
        this.#resting.compare(batch, offsets)
        for (const producer of batch) {
          const counted = found.get(producer)
          if (counted !== undefined) await this.#restUnopened(producer, counted, offsets.get(producer) ?? 0)
        }
      }
      this.#inspected = new Set(producers)
    } catch {
      // Without Postgres nothing can be adopted either, and that says so.
    }
  }

  /** Lets one rest that another process let rest, unless it has something to ship. */
  async #restUnopened(producer: string, counted: CountedJournal, committedOffset: number): Promise<void> {
    const { database, now } = this.#options
    if (committedOffset < counted.last) return
    const gaps = await database.readGaps(producer)
    if (gaps.some(({ from }) => from <= counted.last)) return
    this.#resting.add(producer, { ...counted, readings: [{ atMs: now(), committedOffset }] })
  }

  /** Ends what can be ended of those that are adopted, or lets it rest. False: as many are needed as may be open. */
  async #makeRoom(): Promise<boolean> {
    for (const adopted of this.#adopted.all) {
      if (this.#stopped) return false
      try {
        const readings = await adopted.producer.readingsIfCounted()
        if (readings !== null) await this.#endOrRest(adopted, readings)
      } catch (error) {
        this.#postpone(adopted.producer.id, error)
        return false
      }
    }
    return this.#adopted.size < MAX_ADOPTED
  }

  async #endOrRest(adopted: AdoptedProducer, readings: readonly OffsetReading[]): Promise<void> {
    const { producer, folder, damaged } = adopted
    const { last } = producer.journal
    const resting = { last, damaged, readings }
    if (this.#resting.isDue(resting)) {
      await producer.prune()
      if (producer.isEmpty) await this.#adopted.finish(adopted)
      return
    }
    await writeCountedFile(folder.path, resting)
    await this.#adopted.release(adopted)
    // Postgres may have been restored meanwhile: then it is adopted again at once.
    if (producer.committedOffset >= last) this.#resting.add(producer.id, resting)
  }

  /** False: Postgres does not answer, or there is no time. */
  async #adoptAll(folders: readonly ProducerFolder[]): Promise<boolean> {
    if (folders.length === 0) return true
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
      return false
    }
    for (const folder of folders) await this.#adopt(folder, offsets.get(folder.producer) ?? 0, databaseId)
    return !this.#stopped
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
      const rested = this.#resting.take(producer)
      const wasDamaged = (rested ?? (await readCountedFile(folder.path)))?.damaged === true
      if (found.kind !== 'adopted')
        return await this.#adopted.finishFolder(
          folder,
          committedOffset,
          found.stream ?? ownStream,
          found.kind === 'unusable' || wasDamaged,
        )
      const { journal } = found
      const damaged = found.damaged || wasDamaged
      const records = Math.max(journal.last - committedOffset, 0)
      const readings = rested?.readings ?? []
      const added = producers.add({
        id: producer,
        journal,
        stream: journal.stream,
        committedOffset,
        readings,
      })
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
