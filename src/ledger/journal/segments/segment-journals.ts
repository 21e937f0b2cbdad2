import { randomInt } from 'node:crypto'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Logger } from '../../../lib/logger.ts'
import { isDamage, SQLITE_BUSY, sqliteResult } from '../../recovery/liveness-lock.ts'
import type { Journal, OnWritten } from '../journal.ts'
import type { DeadJournal, DiskReserve, InterruptedRow, JournalStore, Prepared } from '../journal-store.ts'
import { isOlderJournal, JOURNAL_FILE } from '../older-journal.ts'
import { segmentNumbers } from './format/frames.ts'
import { type LogDisk, systemDisk } from './log-disk.ts'
import type { RecoveredCall } from './recovery/log-replay.ts'
import { type RecoveredLog, recoverLog } from './recovery/recover-log.ts'
import { type RewrittenLog, rewriteRecovered } from './recovery/rewrite-recovered.ts'
import { SegmentJournal, type SegmentJournalOptions } from './segment-journal.ts'
import { SEGMENT_BYTES, SegmentLog } from './segment-log.ts'
import { LogOperation } from './turns/log-turn.ts'
import { JournalCall, OpenCalls } from './turns/open-calls.ts'

export interface SegmentJournalsOptions {
  readonly log: Logger
  readonly disk?: LogDisk
  readonly segmentBytes?: number
}

/**
 * The version that `journal.db` has where segments are the journal. Release 0.1.0 keeps records in it and knows
 * version 1: it leaves such a folder to a newer release, instead of deleting one that it finds empty.
 */
const SEGMENTS_DATABASE_VERSION = 2

/**
 * Holds a folder's journal for this process: `journal.db` is an empty SQLite file, locked while the journal is open.
 * So no process opens the journal of one that runs, even where its `alive.db` was deleted.
 */
class JournalLock {
  readonly #database: DatabaseSync

  private constructor(database: DatabaseSync) {
    this.#database = database
  }

  /**
   * `in_use`: another process holds it. `older`: release 0.1.0 keeps records in it. `newer`: a later release wrote it. A
   * file that is missing or damaged is made again: nothing is kept in it.
   *
   * @throws When the disk refuses.
   */
  static acquire(folder: string): JournalLock | 'in_use' | 'older' | 'newer' {
    if (isOlderJournal(folder)) return 'older'
    const path = join(folder, JOURNAL_FILE)
    try {
      return JournalLock.#lock(path)
    } catch (error) {
      if (!isDamage(error)) throw error
      for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true })
      return JournalLock.#lock(path)
    }
  }

  release(): void {
    this.#database.close()
  }

  static #lock(path: string): JournalLock | 'in_use' | 'newer' {
    const database = new DatabaseSync(path, { timeout: 0 })
    try {
      database.exec(
        'pragma locking_mode = exclusive; pragma journal_mode = memory; pragma synchronous = normal',
      )
      const version = Number(database.prepare('pragma user_version').get()?.user_version)
      if (version > SEGMENTS_DATABASE_VERSION) {
        database.close()
        return 'newer'
      }
      if (version < SEGMENTS_DATABASE_VERSION)
        database.exec(`pragma user_version = ${SEGMENTS_DATABASE_VERSION}`)
      database.exec('begin exclusive')
      return new JournalLock(database)
    } catch (error) {
      database.close()
      if (sqliteResult(error) === SQLITE_BUSY) return 'in_use'
      throw error
    }
  }
}

/** A dead producer's journal that was read, until it is opened. */
interface PreparedJournal {
  readonly lock: JournalLock
  readonly recovered: RecoveredLog
  readonly rewritten: RewrittenLog
}

interface DeadSegmentJournalOptions extends Omit<SegmentJournalOptions, 'reserve' | 'cleans' | 'calls'> {
  /** The calls that were under way, by rising number. */
  readonly underWay: readonly RecoveredCall[]
  /** Calls of which it is not known whether they had ended, as they were written. */
  readonly doubted: readonly string[]
  /** So many calls were opened of which nothing can be read. */
  readonly unknown: number
}

/** The journal of a dead producer. Its segments go with its folder: until then they are what an inspection needs. */
class DeadSegmentJournal extends SegmentJournal implements DeadJournal {
  readonly doubted: readonly string[]
  readonly unknown: number
  /** By their numbers, which rise. Those that are records now are gone. */
  readonly #underWay = new Map<number, JournalCall>()

  constructor(options: DeadSegmentJournalOptions) {
    const calls = new OpenCalls()
    super({ ...options, reserve: null, cleans: false, calls })
    const home = options.segments.current
    for (const { number, text, snapshot } of options.underWay) {
      const call = new JournalCall('', text, null)
      call.number = number
      call.snapshot = snapshot
      calls.opened(call, home)
      this.#underWay.set(number, call)
    }
    this.doubted = options.doubted
    this.unknown = options.unknown
  }

  get stream(): string {
    return this.segments.options.stream
  }

  get isTailLost(): boolean {
    return this.segments.options.isTailLost
  }

  selectInterrupted(afterSlot: number, maxRows: number): readonly InterruptedRow[] {
    const rows: InterruptedRow[] = []
    for (const { number, text, snapshot } of this.#underWay.values()) {
      if (rows.length >= maxRows) break
      if (number > afterSlot) rows.push({ slot: number, call: text, snapshot })
    }
    return rows
  }

  closeInterrupted({ slot }: InterruptedRow, body: string, onWritten: OnWritten): void {
    const call = this.#underWay.get(slot) ?? null
    const written: OnWritten = (error, sequence) => {
      if (error === null) this.#underWay.delete(slot)
      onWritten(error, sequence)
    }
    this.writer.enqueue(new LogOperation('close', call, body, written))
  }
}

/** Journals as segments that are only appended to, in each producer's folder. */
export class SegmentJournals implements JournalStore {
  readonly #log: Logger
  readonly #disk: LogDisk
  readonly #segmentBytes: number
  readonly #prepared = new Map<string, PreparedJournal>()

  constructor({ log, disk = systemDisk, segmentBytes = SEGMENT_BYTES }: SegmentJournalsOptions) {
    this.#log = log
    this.#disk = disk
    this.#segmentBytes = segmentBytes
  }

  create(folder: string, stream: string, reserve: DiskReserve | null): Journal {
    const lock = JournalLock.acquire(folder)
    if (!(lock instanceof JournalLock)) throw new Error(`the journal in ${folder} is ${lock}`)
    try {
      const salt = randomInt(1, 2 ** 32)
      const segments = SegmentLog.create({ ...this.#logOptions(folder), salt, stream, isTailLost: false })
      const synced = { end: { segment: 0, position: 0 }, last: 0, bytesTotal: 0, discards: 0 }
      const onStopped = () => lock.release()
      return new SegmentJournal({ segments, synced, reserve, cleans: true, onStopped, log: this.#log })
    } catch (error) {
      lock.release()
      throw error
    }
  }

  async prepare(folder: string): Promise<Prepared> {
    this.#release(folder)
    const isSegmented = segmentNumbers(await this.#disk.list(folder)).length > 0
    if (!isSegmented && !existsSync(join(folder, JOURNAL_FILE))) return 'absent'
    const lock = JournalLock.acquire(folder)
    if (!(lock instanceof JournalLock)) return lock
    try {
      const recovered = await recoverLog(folder, this.#disk)
      if (recovered === 'absent' || recovered === 'unreadable') {
        lock.release()
        return recovered
      }
      const rewritten = await rewriteRecovered(folder, recovered, this.#disk)
      this.#prepared.set(folder, { lock, recovered, rewritten })
      return recovered.replay.isDamaged ? 'damaged' : 'ready'
    } catch (error) {
      lock.release()
      throw error
    }
  }

  reopen(folder: string): DeadJournal {
    const prepared = this.#prepared.get(folder)
    if (prepared === undefined) throw new Error(`the journal in ${folder} was not prepared`)
    this.#prepared.delete(folder)
    const { lock, recovered, rewritten } = prepared
    const { replay, found } = recovered
    const { isTailLost, counts, calls } = replay
    const options = { ...this.#logOptions(folder), salt: found.salt, stream: found.stream, isTailLost }
    return new DeadSegmentJournal({
      segments: SegmentLog.reopen(options, counts, rewritten.segments),
      synced: rewritten.synced,
      underWay: calls.underWay,
      doubted: calls.doubted.map(({ text }) => text),
      unknown: calls.unknown,
      onStopped: () => lock.release(),
      log: this.#log,
    })
  }

  stop(): void {
    for (const folder of [...this.#prepared.keys()]) this.#release(folder)
  }

  #release(folder: string): void {
    const prepared = this.#prepared.get(folder)
    this.#prepared.delete(folder)
    for (const segment of prepared?.rewritten.segments ?? []) segment.close()
    prepared?.lock.release()
  }

  #logOptions(folder: string) {
    return { folder, disk: this.#disk, segmentBytes: this.#segmentBytes }
  }
}
