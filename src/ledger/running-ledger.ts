import { join } from 'node:path'
import type { CallRecord, OpenCall } from '../call/call-record.ts'
import { serialiseRecord } from '../call/record-codec.ts'
import { unlessAborted, withinDeadline } from '../lib/deadline.ts'
import { repeat } from '../lib/repeat.ts'
import type { DiskReserve } from './journal/disk-reserve.ts'
import { JournalDatabase } from './journal/sqlite/journal-database.ts'
import type { OnWritten } from './journal/sqlite/journal-turn.ts'
import { Journal } from './journal/sqlite/sqlite-journal.ts'
import { JournalWork } from './journal/sqlite/thread/journal-work.ts'
import type { Ledger, LedgerOptions, LedgerStats } from './ledger.ts'
import { Adoption } from './recovery/adoption.ts'
import { finishProducer } from './recovery/finish-producer.ts'
import { writeJournalDatabaseId } from './recovery/journal-database-id.ts'
import { JOURNAL_FILE, type ProducerFolder } from './recovery/producer-folder.ts'
import { RetiredProducerCheck } from './recovery/retired-producer-check.ts'
import { CommittedOffsetReader } from './shipping/committed-offset-reader.ts'
import { Producer } from './shipping/producer.ts'
import { RedisLink } from './shipping/redis-link.ts'
import { StreamRegister } from './shipping/stream-register.ts'

/** How often marks are read while something is not committed. */
const OFFSETS_INTERVAL_MS = 1_000
const ADOPTION_INTERVAL_MS = 5_000
const PRUNE_INTERVAL_MAX_MS = 30_000
const PRUNE_INTERVAL_MIN_MS = 100
const POSTGRES_LIMIT_MS = 5_000

/** A ledger at work: this process's own producer, those it has adopted, and what they share. */
export class RunningLedger implements Ledger {
  readonly #options: LedgerOptions
  readonly #own: Producer
  readonly #adoption: Adoption
  readonly #link: RedisLink
  readonly #committedOffsets: CommittedOffsetReader
  readonly #streams: StreamRegister
  readonly #retiredProducers: RetiredProducerCheck
  readonly #work = new JournalWork()
  readonly #repeating: readonly { stop(): Promise<void> }[]
  #postgresAway = false
  #checksRetired = true
  /** The identity of the database that answered last; `null`: none has yet. */
  #database: string | null = null
  readonly #stop = new AbortController()

  constructor(given: LedgerOptions, folder: ProducerFolder, reserve: DiskReserve) {
    // Who ends does not wait for a Postgres that is silent.
    const unlessStopped = <T>(answer: Promise<T>) => unlessAborted(answer, this.#stop.signal)
    const options: LedgerOptions = {
      ...given,
      readCommittedOffsets: (producers) => unlessStopped(given.readCommittedOffsets(producers)),
      readGaps: (producer) => unlessStopped(given.readGaps(producer)),
      readDatabase: () => unlessStopped(given.readDatabase()),
      registerStream: (stream) => unlessStopped(given.registerStream(stream)),
    }
    this.#options = options
    const { journalDir, log, redisUrl, redisPrefix, stream, keepSeconds } = options
    this.#link = new RedisLink({
      redisUrl,
      redisPrefix,
      log,
      onConnected: () => {
        for (const producer of this.#producers()) producer.checkForLossSoon()
      },
    })
    this.#committedOffsets = new CommittedOffsetReader({
      readCommittedOffsets: options.readCommittedOffsets,
      producers: () => this.#producers().map(({ id }) => id),
      onCommitted: (id, committedOffset) =>
        this.#producers()
          .find((producer) => producer.id === id)
          ?.onCommitted(committedOffset),
    })
    this.#streams = new StreamRegister(options.registerStream, log)
    const { readCommittedOffsets, readGaps, readDatabase, registerStream } = options
    this.#retiredProducers = new RetiredProducerCheck({
      journalDir,
      link: this.#link,
      readCommittedOffsets,
      registerStream,
      log,
    })
    this.#adoption = new Adoption({
      journalDir,
      ownProducer: folder.producer,
      ownStream: stream,
      work: this.#work,
      buildInterrupted: options.buildInterrupted,
      readCommittedOffsets,
      readGaps,
      readDatabase,
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
      onSynced: () => this.#own.wake(),
    })
    this.#own = this.#take(folder, journal, stream, 0)
    const pruneIntervalMs = (keepSeconds * 1_000) / 10
    this.#repeating = [
      repeat(() => this.#readCommittedOffsets(), OFFSETS_INTERVAL_MS),
      repeat(() => this.#adopt(), ADOPTION_INTERVAL_MS),
      repeat(
        () => this.#prune(),
        Math.max(Math.min(pruneIntervalMs, PRUNE_INTERVAL_MAX_MS), PRUNE_INTERVAL_MIN_MS),
      ),
    ]
  }

  get canTakeCalls(): boolean {
    return (
      !this.#stop.signal.aborted &&
      !this.#own.journal.refuses &&
      this.#uncommittedBytes() < this.#options.journalMaxBytes
    )
  }

  open(call: OpenCall, onWritten: OnWritten): void {
    this.#own.journal.open(call, onWritten)
  }

  saveSnapshotNow(callId: string, snapshot: string, onWritten: OnWritten): void {
    this.#own.journal.saveSnapshotNow(callId, snapshot, onWritten)
  }

  saveSnapshot(callId: string, snapshot: string): void {
    this.#own.journal.saveSnapshot(callId, snapshot)
  }

  close(record: CallRecord, onWritten: OnWritten): void {
    this.#own.journal.close(record.callId, serialiseRecord(record), onWritten)
  }

  discard(callId: string): void {
    this.#own.journal.discard(callId)
  }

  stats(): LedgerStats {
    const { journal, id, sent, committedOffset } = this.#own
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
      committedOffset,
      pruned: journal.prunedTo,
      adopted: this.#adoption.size,
      corrupt: this.#adoption.corrupt,
      redisConnected: this.#link.connected,
      journalWritable: !journal.refuses,
    }
  }

  async stop(graceMs: number): Promise<void> {
    this.#stop.abort(new Error('the gateway ends'))
    const { journal, folder } = this.#own
    const { log } = this.#options
    const idle = Promise.all(this.#repeating.map((one) => one.stop()))
    this.#adoption.stopScanning()
    // 1. What waits for a commit gets one, and its sync.
    await journal.flush()
    // 2. Redis gets what it takes in the time left. The rest stays, as does all that is not kept long enough.
    await Promise.all(this.#producers().map((producer) => producer.shipAll(graceMs)))
    this.#link.close()
    this.#streams.stop()
    await this.#work.stop()
    await idle
    // 3. Journals before their locks: who gets a lock next finds the files let go of.
    await this.#adoption.releaseAll()
    const isUnused = this.#own.isEmpty && journal.openCalls === 0 && journal.isWritten
    await this.#own.stop()
    try {
      if (isUnused) {
        const { stream } = this.#own
        await finishProducer(this.#options.journalDir, { folder, last: journal.last, stream }, false)
      }
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
  #take(folder: ProducerFolder, journal: Journal, stream: string, committedOffset: number): Producer {
    const { keepSeconds, readGaps, log, now = () => performance.now() } = this.#options
    const producer = new Producer({
      folder,
      stream,
      journal,
      committedOffset,
      keepMs: keepSeconds * 1_000,
      link: this.#link,
      readCommittedOffset: () => this.#committedOffsets.read(folder.producer),
      readGaps: () => readGaps(folder.producer),
      log,
      now,
    })
    this.#streams.whenRegistered(stream, () => producer.startShipping())
    return producer
  }

  async #readCommittedOffsets(): Promise<void> {
    if (!this.#producers().some((producer) => producer.wantsCommittedOffset)) return
    await this.#withPostgres(() => this.#committedOffsets.readAll())
  }

  /** What is to be done seldom. */
  async #prune(): Promise<void> {
    await this.#withPostgres(async () => {
      for (const producer of this.#producers()) if (!producer.isEmpty) await producer.prune()
      await this.#registerAgain()
    })
    await this.#adoption.releaseEmpty()
    await this.#checkRetiredProducers()
  }

  /** Of no consequence to anything else: neither a full disk nor a silent Postgres may make it so. */
  async #checkRetiredProducers(): Promise<void> {
    try {
      await this.#bind()
      await this.#retiredProducers.check(this.#database)
      this.#checksRetired = true
    } catch (error) {
      if (this.#checksRetired && !this.#postgresAway && !this.#stop.signal.aborted)
        this.#options.log.warn({ err: error }, 'nobody looks after the records of journals that are gone')
      this.#checksRetired = false
    }
  }

  /**
   * A journal belongs to the database whose marks it follows. Another one in the place of ours, while we live, is as
   * one that was restored to its beginning: what journals still have goes there, the rest is named.
   */
  async #bind(): Promise<void> {
    const { readDatabase, log } = this.#options
    const database = await withinDeadline(readDatabase(), POSTGRES_LIMIT_MS)
    if (database === null || database === this.#database) return
    if (this.#database !== null)
      log.error(
        { before: this.#database, database },
        'another database answers in the place of the one before',
      )
    for (const { folder } of this.#producers()) await writeJournalDatabaseId(folder.path, database)
    this.#database = database
  }

  /** Postgres may have gone back behind the registration of a stream, and then no worker would look at it. */
  async #registerAgain(): Promise<void> {
    const waiting = this.#producers().filter(({ uncommittedRecords }) => uncommittedRecords > 0)
    for (const stream of new Set(waiting.map(({ stream }) => stream)))
      await withinDeadline(this.#options.registerStream(stream), POSTGRES_LIMIT_MS)
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
      if (this.#stop.signal.aborted) return
      if (!this.#postgresAway)
        log.warn({ err: error }, 'Postgres does not answer; records wait in the journal')
      this.#postgresAway = true
    }
  }
}
