import { join } from 'node:path'
import type { CallRecord, OpenCall } from '../domain/call-record.ts'
import { Adoption } from './adoption.ts'
import { Journal, type OnWritten } from './journal.ts'
import { JournalDatabase } from './journal-database.ts'
import { JournalWork } from './journal-work.ts'
import type { Logger } from './log.ts'
import { MarkReader } from './mark-reader.ts'
import { Producer } from './producer.ts'
import {
  createProducerFolder,
  deleteProducerFolder,
  JOURNAL_FILE,
  type ProducerFolder,
  RESERVE_FILE,
} from './producer-folder.ts'
import { serialiseRecord } from './record-json.ts'
import { RedisLink } from './redis-link.ts'
import { repeat } from './repeat.ts'
import { Reserve } from './reserve.ts'
import type { SequenceRange } from './shipper.ts'
import { StreamRegister } from './stream-register.ts'

/** How often marks are read while something is not committed. */
const MARKS_INTERVAL_MS = 1_000
const ADOPTION_INTERVAL_MS = 5_000
const FORGET_INTERVAL_MAX_MS = 30_000
const FORGET_INTERVAL_MIN_MS = 100

export interface LedgerOptions {
  /** Shared by the gateways of one host; each has a folder of its own in it. Not on NFS: it relies on file locks. */
  readonly journalDir: string
  /** New calls are refused while records of this size, in bytes, are not committed. */
  readonly journalMaxBytes: number
  /** How long committed records are kept, so that a Postgres that falls back by so much can be refilled. */
  readonly keepSeconds: number
  readonly redisUrl: string
  readonly redisPrefix: string
  /** The full key of the stream that this process's records go to. */
  readonly stream: string
  /** Marks as committed in Postgres now; a producer without a row is absent. Rejects when Postgres is away. */
  readonly readMarks: (producers: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** Unfilled holes that workers recorded for a producer. */
  readonly readGaps: (producer: string) => Promise<readonly SequenceRange[]>
  /** Makes a stream known to the workers; idempotent. Called before anything is shipped to it, until it succeeds. */
  readonly registerStream: (stream: string) => Promise<void>
  /** The record of a call that was cut by a crash, from what is known of it and the last usage noted. */
  readonly buildInterrupted: (open: OpenCall, seen: string | null) => CallRecord
  readonly log: Logger
  /** Monotonic milliseconds. */
  readonly now?: () => number
}

/** Where the ledger stands, for health, metrics and `doctor`. Records and bytes include adopted producers'. */
export interface LedgerStats {
  readonly producer: string
  readonly uncommittedRecords: number
  readonly uncommittedBytes: number
  /** How long the oldest uncommitted record has waited; 0: there is none. */
  readonly oldestUncommittedMs: number
  readonly openCalls: number
  /** Of this process's producer: highest sequence committed to the journal, synced, on the stream, and in Postgres. */
  readonly last: number
  readonly synced: number
  readonly sent: number
  readonly mark: number
  /** Of this process's producer: the highest sequence that was committed for long enough and is deleted. */
  readonly pruned: number
  /** Producers that are gone whose journals this process cares for. */
  readonly adopted: number
  /** Folders set aside in the journal directory because something in them could not be read. */
  readonly corrupt: number
  readonly redisConnected: boolean
  /** The disk takes writes and the reserve for running calls is there. */
  readonly journalWritable: boolean
}

export interface Ledger {
  /** False: the journal is at its cap or the disk refuses. A call must then be refused. */
  readonly canTakeCalls: boolean
  /** Notes a call before its first byte goes upstream; `onWritten` with an error: it must not go. */
  open(call: OpenCall, onWritten: OnWritten): void
  /** The last usage seen in a call under way, as JSON for `buildInterrupted`; written within about a second. */
  note(callId: string, seen: string): void
  /** As `note`, written in this turn of the event loop; then, or when the disk refuses, `onWritten` runs. */
  noteNow(callId: string, seen: string, onWritten: OnWritten): void
  /** Records a call that has ended; `onWritten` with an error: the client must not see a whole answer. */
  close(record: CallRecord, onWritten: OnWritten): void
  /** Drops a call that was opened and never sent upstream. */
  discard(callId: string): void
  stats(): LedgerStats
  /**
   * Ships what it can within `graceMs` and lets go of everything. Calls still open, and records not yet kept for
   * long enough, stay in the journal for the next adopter.
   */
  stop(graceMs: number): Promise<void>
}

/** Opens a new producer's journal and begins to adopt, ship and forget. Rejects when the directory is unusable. */
export async function openLedger(options: LedgerOptions): Promise<Ledger> {
  const folder = createProducerFolder(options.journalDir)
  const reserve = new Reserve(join(folder.path, RESERVE_FILE))
  await reserve.make()
  return new RunningLedger(options, folder, reserve)
}

class RunningLedger implements Ledger {
  readonly #options: LedgerOptions
  readonly #own: Producer
  readonly #adoption: Adoption
  readonly #link: RedisLink
  readonly #marks: MarkReader
  readonly #streams: StreamRegister
  readonly #work = new JournalWork()
  readonly #repeating: readonly { stop(): Promise<void> }[]
  #postgresAway = false
  #stopping = false

  constructor(options: LedgerOptions, folder: ProducerFolder, reserve: Reserve) {
    this.#options = options
    const { journalDir, log, redisUrl, redisPrefix, stream, keepSeconds } = options
    this.#link = new RedisLink({
      redisUrl,
      redisPrefix,
      log,
      onConnected: () => {
        for (const producer of this.#producers()) producer.suspectLoss()
      },
    })
    this.#marks = new MarkReader({
      readMarks: options.readMarks,
      producers: () => this.#producers().map(({ id }) => id),
      onMark: (id, mark) =>
        this.#producers()
          .find((producer) => producer.id === id)
          ?.onMark(mark),
    })
    this.#streams = new StreamRegister(options.registerStream, log)
    this.#adoption = new Adoption({
      journalDir,
      ownProducer: folder.producer,
      work: this.#work,
      buildInterrupted: options.buildInterrupted,
      readMarks: options.readMarks,
      take: (...adopted) => this.#take(...adopted),
      log,
    })
    const path = join(folder.path, JOURNAL_FILE)
    const journal = new Journal({
      path,
      database: new JournalDatabase(path, stream),
      work: this.#work,
      reserve,
      log,
      onSynced: () => this.#own.kick(),
    })
    this.#own = this.#take(folder, journal, stream, 0)
    const forgetMs = (keepSeconds * 1_000) / 10
    this.#repeating = [
      repeat(() => this.#readMarks(), MARKS_INTERVAL_MS),
      repeat(() => this.#adopt(), ADOPTION_INTERVAL_MS),
      repeat(
        () => this.#forget(),
        Math.max(Math.min(forgetMs, FORGET_INTERVAL_MAX_MS), FORGET_INTERVAL_MIN_MS),
      ),
    ]
  }

  get canTakeCalls(): boolean {
    return (
      !this.#stopping &&
      !this.#own.journal.refuses &&
      this.#uncommittedBytes() < this.#options.journalMaxBytes
    )
  }

  open(call: OpenCall, onWritten: OnWritten): void {
    this.#own.journal.open(call, onWritten)
  }

  noteNow(callId: string, seen: string, onWritten: OnWritten): void {
    this.#own.journal.noteNow(callId, seen, onWritten)
  }

  note(callId: string, seen: string): void {
    this.#own.journal.note(callId, seen)
  }

  close(record: CallRecord, onWritten: OnWritten): void {
    this.#own.journal.close(record.callId, serialiseRecord(record), onWritten)
  }

  discard(callId: string): void {
    this.#own.journal.discard(callId)
  }

  stats(): LedgerStats {
    const { journal, id, sent, mark } = this.#own
    const producers = this.#producers()
    return {
      producer: id,
      uncommittedRecords: producers.reduce((sum, producer) => sum + producer.uncommittedRecords, 0),
      uncommittedBytes: this.#uncommittedBytes(),
      oldestUncommittedMs: Math.max(...producers.map((producer) => producer.backlogAgeMs())),
      openCalls: journal.openCalls,
      last: journal.last,
      synced: journal.synced,
      sent,
      mark,
      pruned: journal.prunedTo,
      adopted: this.#adoption.size,
      corrupt: this.#adoption.corrupt,
      redisConnected: this.#link.connected,
      journalWritable: !journal.refuses,
    }
  }

  async stop(graceMs: number): Promise<void> {
    this.#stopping = true
    const { journal, folder } = this.#own
    const { log } = this.#options
    const idle = Promise.all(this.#repeating.map((one) => one.stop()))
    this.#adoption.halt()
    // 1. What waits for a commit gets one, and its sync.
    await journal.flush()
    // 2. Redis gets what it takes in the time left. The rest stays, as does all that is not kept long enough.
    await Promise.all(this.#producers().map((producer) => producer.shipAll(graceMs)))
    this.#link.close()
    this.#streams.stop()
    await this.#work.stop()
    await idle
    // 3. Journals before their locks: who gets a lock next finds the files let go of.
    await this.#adoption.letGo()
    const isUnused = this.#own.isEmpty && journal.openCalls === 0
    await this.#own.stop()
    try {
      if (isUnused) await deleteProducerFolder(this.#options.journalDir, folder.producer)
    } catch (error) {
      log.warn(
        { err: error, producer: folder.producer },
        'the folder of an unused journal could not be deleted',
      )
    } finally {
      folder.lock.release()
    }
  }

  #producers(): Producer[] {
    return [this.#own, ...this.#adoption.producers]
  }

  #uncommittedBytes(): number {
    let bytes = this.#own.uncommittedBytes
    if (this.#adoption.size > 0) for (const one of this.#adoption.producers) bytes += one.uncommittedBytes
    return bytes
  }

  /** Takes a journal into care; its shipping begins when its stream is registered. */
  #take(folder: ProducerFolder, journal: Journal, stream: string, mark: number): Producer {
    const { keepSeconds, readGaps, log, now = () => performance.now() } = this.#options
    const producer = new Producer({
      folder,
      stream,
      journal,
      mark,
      keepMs: keepSeconds * 1_000,
      link: this.#link,
      readMark: () => this.#marks.read(folder.producer),
      readGaps: () => readGaps(folder.producer),
      log,
      now,
    })
    this.#streams.whenRegistered(stream, () => producer.startShipping())
    return producer
  }

  async #readMarks(): Promise<void> {
    if (!this.#producers().some((producer) => producer.wantsMark)) return
    await this.#withPostgres(() => this.#marks.readAll())
  }

  async #forget(): Promise<void> {
    await this.#withPostgres(async () => {
      for (const producer of this.#producers()) if (!producer.isEmpty) await producer.forget()
    })
    await this.#adoption.releaseEmpty()
  }

  async #adopt(): Promise<void> {
    try {
      await this.#adoption.scan()
    } catch (error) {
      this.#options.log.error({ err: error }, 'the journal directory cannot be read')
    }
  }

  /** Postgres may be away at any time: everything waits for it, and one line says so. */
  async #withPostgres(task: () => Promise<void>): Promise<void> {
    const { log } = this.#options
    try {
      await task()
      if (this.#postgresAway) log.info({}, 'Postgres answers again')
      this.#postgresAway = false
    } catch (error) {
      if (!this.#postgresAway)
        log.warn({ err: error }, 'Postgres does not answer; records wait in the journal')
      this.#postgresAway = true
    }
  }
}
