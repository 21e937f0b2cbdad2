import type { CallName, SnapshotSource } from '../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../call/call-record.ts'
import { serialiseRecord } from '../call/codec/record-codec.ts'
import { Housekeeping, JournalCap } from './housekeeping.ts'
import type { OnWritten } from './journal/journal.ts'
import type { JournalStore } from './journal/journal-store.ts'
import { refuseOlderJournals } from './journal/older-journal.ts'
import { SegmentJournals } from './journal/segments/segment-journals.ts'
import type { Ledger, LedgerOptions, LedgerStats } from './ledger.ts'
import { withDeadlines } from './ledger-database.ts'
import { createOwnFolders, type OwnFolders, OwnProducers } from './own-producers.ts'
import { Adoption } from './recovery/adoption.ts'
import { DatabaseBinding } from './recovery/journal-database-id.ts'
import { RetiredProducerCheck } from './recovery/retired-producers.ts'
import { Producers } from './shipping/producers.ts'

/**
 * Opens new producers' journals and starts to adopt, ship and prune. Rejects when the directory is unusable, or has
 * journals of release 0.1.0.
 */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  refuseOlderJournals(options.journalDir)
  return new RunningLedger(options, await createOwnFolders(options.journalDir, options.streams.length))
}

/** A ledger at work: this process's own producers, those it has adopted, and what they share. */
class RunningLedger implements Ledger {
  readonly #options: LedgerOptions
  readonly #journals: JournalStore
  readonly #producers: Producers
  readonly #own: OwnProducers
  readonly #adoption: Adoption
  readonly #housekeeping: Housekeeping
  readonly #stop = new AbortController()

  constructor(options: LedgerOptions, own: OwnFolders) {
    const { journalDir, streams, buildInterrupted, log, now = () => performance.now() } = options
    const database = withDeadlines(options.database, this.#stop.signal)
    const keepMs = options.keepSeconds * 1_000
    const journals = new SegmentJournals({ log })
    const { redisMemory = () => null } = options
    const producers = new Producers({ ...options, redisMemory, database, keepMs, now })
    this.#own = new OwnProducers({ ...own, journalDir, streams, journals, producers, log })
    this.#adoption = new Adoption({
      journalDir,
      ownProducers: this.#own.ids,
      ownStream: streams[0] ?? '',
      journals,
      buildInterrupted,
      database,
      producers,
      keepMs,
      log,
      now,
    })
    this.#housekeeping = new Housekeeping({
      producers,
      adoption: this.#adoption,
      binding: new DatabaseBinding(database, (id) => producers.useDatabase(id), log),
      retired: new RetiredProducerCheck({ journalDir, link: producers.link, database, log }),
      cap: new JournalCap(producers, options.journalMaxBytes, log),
      ownFolders: own.folders.map(({ path }) => path),
      keepMs,
      log,
    })
    this.#options = options
    this.#journals = journals
    this.#producers = producers
  }

  get canTakeCalls(): boolean {
    return (
      !this.#stop.signal.aborted &&
      !this.#own.refuse &&
      this.#producers.uncommittedBytes < this.#options.journalMaxBytes
    )
  }

  open(call: OpenCall, onWritten: OnWritten): void {
    this.#own.of(call.clientId).journal.open(call, onWritten)
  }

  saveSnapshot(call: CallName, snapshot: SnapshotSource): void {
    this.#own.of(call.clientId).journal.saveSnapshot(call.callId, snapshot)
  }

  saveSnapshotNow(call: CallName, snapshot: SnapshotSource, onWritten: OnWritten): void {
    this.#own.of(call.clientId).journal.saveSnapshotNow(call.callId, snapshot, onWritten)
  }

  close(record: CallRecord, onWritten: OnWritten): void {
    const { journal } = this.#own.of(record.clientId)
    journal.close(record.callId, serialiseRecord(record, journal.openText(record)), onWritten)
  }

  discard(call: CallName): void {
    this.#own.of(call.clientId).journal.discard(call.callId)
  }

  get producers(): readonly string[] {
    return this.#own.ids
  }

  producerOf(clientId: string): string {
    return this.#own.of(clientId).id
  }

  lastSequenceOf(clientId: string): number {
    return this.#own.of(clientId).journal.last
  }

  stats(): LedgerStats {
    const producers = this.#producers
    const own = this.#own
    return {
      uncommittedRecords: producers.uncommittedRecords,
      uncommittedBytes: producers.uncommittedBytes,
      oldestUncommittedMs: producers.backlogAgeMs(),
      openCalls: own.openCalls,
      ...own.progress,
      adopted: this.#adoption.size,
      corrupt: this.#adoption.corrupt,
      redisConnected: producers.link.connected,
      journalWritable: !own.refuse,
    }
  }

  async stop(graceMs: number): Promise<void> {
    // Nothing waits for a silent Postgres from now on.
    this.#stop.abort(new Error('the gateway ends'))
    const idle = this.#housekeeping.stop()
    // 1. What waits for a commit gets one, and its sync.
    await this.#own.flush()
    // 2. Redis gets what it takes in the time left. The rest stays, as does all that was not kept for long enough.
    await this.#producers.shipAll(graceMs)
    this.#producers.disconnect()
    this.#journals.stop()
    await idle
    // 3. Journals before their locks: the process that takes a lock next must find the files closed.
    await this.#adoption.releaseAll()
    await this.#own.close()
  }
}
