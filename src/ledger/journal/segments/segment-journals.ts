import { randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from '../../../lib/logger.ts'
import type { DiskReserve } from '../disk-reserve.ts'
import type { Journal } from '../journal.ts'
import type { DeadJournal, JournalStore, Prepared } from '../journal-store.ts'
import { JOURNAL_FILE } from '../older-journal.ts'
import { DeadSegmentJournal } from './dead-segment-journal.ts'
import { segmentNumbers } from './format/segment-files.ts'
import { JournalLock } from './journal-lock.ts'
import { type LogDisk, systemDisk } from './log-disk.ts'
import { type RecoveredLog, recoverLog } from './recovery/recover-log.ts'
import { type RewrittenLog, rewriteRecovered } from './recovery/rewrite-recovered.ts'
import { SegmentJournal } from './segment-journal.ts'
import { SEGMENT_BYTES, SegmentLog } from './segment-log.ts'

export interface SegmentJournalsOptions {
  readonly log: Logger
  readonly disk?: LogDisk
  readonly segmentBytes?: number
}

/** A dead producer's journal that was read, until it is opened. */
interface PreparedJournal {
  readonly lock: JournalLock
  readonly recovered: RecoveredLog
  readonly rewritten: RewrittenLog
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
