import { join } from 'node:path'
import type { CallRecord, OpenCall } from '../call/call-record.ts'
import { serialiseRecord } from '../call/codec/record-codec.ts'
import { Housekeeping } from './housekeeping.ts'
import { DiskReserve } from './journal/disk-reserve.ts'
import type { Journal, OnWritten } from './journal/journal.ts'
import type { JournalStore } from './journal/journal-store.ts'
import { SegmentJournals } from './journal/segments/segment-journals.ts'
import { JournalCap } from './journal-cap.ts'
import type { Ledger, LedgerOptions, LedgerStats } from './ledger.ts'
import { withDeadlines } from './ledger-database.ts'
import { Adoption } from './recovery/adoption.ts'
import { finishProducer } from './recovery/finish-producer.ts'
import { DatabaseBinding } from './recovery/journal-database-id.ts'
import { createProducerFolder, type ProducerFolder, RESERVE_FILE } from './recovery/producer-folder.ts'
import { RetiredProducerCheck } from './recovery/retired-producer-check.ts'
import type { Producer } from './shipping/producer.ts'
import { Producers } from './shipping/producers.ts'

/** Opens a new producer's journal and starts to adopt, ship and prune. Rejects when the directory is unusable. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const folder = createProducerFolder(options.journalDir)
  const reserve = new DiskReserve(join(folder.path, RESERVE_FILE))
  await reserve.allocate()
  return new RunningLedger(options, folder, reserve)
}

/** A ledger at work: this process's own producer, those it has adopted, and what they share. */
class RunningLedger implements Ledger {
  readonly #options: LedgerOptions
  readonly #folder: ProducerFolder
  readonly #journals: JournalStore
  readonly #journal: Journal
  readonly #producers: Producers
  readonly #own: Producer
  readonly #adoption: Adoption
  readonly #housekeeping: Housekeeping
  readonly #stop = new AbortController()

  constructor(options: LedgerOptions, folder: ProducerFolder, reserve: DiskReserve) {
    const { journalDir, stream, buildInterrupted, log, now = () => performance.now() } = options
    const database = withDeadlines(options.database, this.#stop.signal)
    const keepMs = options.keepSeconds * 1_000
    const journals = new SegmentJournals({ log })
    const journal = journals.create(folder.path, stream, reserve)
    const producers = new Producers({ ...options, database, keepMs, now })
    this.#own = producers.add({ id: folder.producer, journal, stream, committedOffset: 0 })
    this.#adoption = new Adoption({
      journalDir,
      ownProducer: folder.producer,
      ownStream: stream,
      journals,
      buildInterrupted,
      database,
      producers,
      log,
    })
    this.#housekeeping = new Housekeeping({
      producers,
      adoption: this.#adoption,
      binding: new DatabaseBinding(database, log),
      retired: new RetiredProducerCheck({ journalDir, link: producers.link, database, log }),
      cap: new JournalCap(producers, options.journalMaxBytes, log),
      ownFolder: folder.path,
      keepMs,
      log,
    })
    this.#options = options
    this.#folder = folder
    this.#journals = journals
    this.#journal = journal
    this.#producers = producers
  }

  get canTakeCalls(): boolean {
    return (
      !this.#stop.signal.aborted &&
      !this.#journal.refuses &&
      this.#producers.uncommittedBytes < this.#options.journalMaxBytes
    )
  }

  open(call: OpenCall, onWritten: OnWritten): void {
    this.#journal.open(call, onWritten)
  }

  saveSnapshot(callId: string, snapshot: string): void {
    this.#journal.saveSnapshot(callId, snapshot)
  }

  saveSnapshotNow(callId: string, snapshot: string, onWritten: OnWritten): void {
    this.#journal.saveSnapshotNow(callId, snapshot, onWritten)
  }

  close(record: CallRecord, onWritten: OnWritten): void {
    const journal = this.#journal
    journal.close(record.callId, serialiseRecord(record, journal.openText(record)), onWritten)
  }

  discard(callId: string): void {
    this.#journal.discard(callId)
  }

  stats(): LedgerStats {
    const journal = this.#journal
    const producers = this.#producers
    return {
      producer: this.#own.id,
      uncommittedRecords: producers.uncommittedRecords,
      uncommittedBytes: producers.uncommittedBytes,
      oldestUncommittedMs: producers.backlogAgeMs(),
      openCalls: journal.openCalls,
      last: journal.last,
      synced: journal.synced,
      sent: this.#own.sent,
      committedOffset: this.#own.committedOffset,
      pruned: journal.prunedTo,
      adopted: this.#adoption.size,
      corrupt: this.#adoption.corrupt,
      redisConnected: producers.link.connected,
      journalWritable: !journal.refuses,
    }
  }

  async stop(graceMs: number): Promise<void> {
    // Nothing waits for a silent Postgres from now on.
    this.#stop.abort(new Error('the gateway ends'))
    const idle = this.#housekeeping.stop()
    // 1. What waits for a commit gets one, and its sync.
    await this.#journal.flush()
    // 2. Redis gets what it takes in the time left. The rest stays, as does all that was not kept for long enough.
    await this.#producers.shipAll(graceMs)
    this.#producers.disconnect()
    await this.#journals.stop()
    await idle
    // 3. Journals before their locks: the process that takes a lock next must find the files closed.
    await this.#adoption.releaseAll()
    const isUnused = this.#own.isEmpty && this.#journal.openCalls === 0 && this.#journal.isWritten
    await this.#producers.remove(this.#own)
    await this.#releaseFolder(isUnused)
  }

  async #releaseFolder(isUnused: boolean): Promise<void> {
    const { journalDir, stream, log } = this.#options
    const folder = this.#folder
    try {
      if (isUnused) await finishProducer(journalDir, { folder, last: this.#journal.last, stream }, false)
    } catch (error) {
      log.warn(
        { event: 'journal.folder_not_deleted', err: error, producer: folder.producer },
        'the folder of an unused journal could not be deleted',
      )
    } finally {
      folder.lock.release()
    }
  }
}
