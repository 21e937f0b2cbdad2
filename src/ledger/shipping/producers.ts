import type { Logger } from '../../lib/logger.ts'
import type { RedisMemory } from '../../store/connection/redis-state.ts'
import type { Journal } from '../journal/journal.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import type { OffsetReading } from './committed-offset-reader.ts'
import { CommittedOffsetReader } from './committed-offset-reader.ts'
import { Producer } from './producer.ts'
import { RedisLink } from './stream/redis-link.ts'
import type { StreamLink } from './stream/stream-link.ts'
import { crowdedFrom, StreamRegister } from './stream/stream-register.ts'

export interface ProducersOptions {
  readonly redisUrl: string
  readonly redisPrefix: string
  /** The figures that Redis last gave of its memory; `null`: not known. */
  readonly redisMemory: () => RedisMemory | null
  /** How long committed records are kept. */
  readonly keepMs: number
  readonly database: LedgerDatabase
  readonly log: Logger
  /** Monotonic milliseconds. */
  readonly now: () => number
}

/** A journal whose records are to be shipped. */
export interface AddedProducer {
  /** 32 lower-case hex digits. */
  readonly id: string
  readonly journal: Journal
  /** The full key of the stream that its records go to. */
  readonly stream: string
  /** The committed offset in Postgres; 0 for a new producer. */
  readonly committedOffset: number
  /** Committed offsets that were read before, oldest first: they count for the keep time. */
  readonly readings?: readonly OffsetReading[]
}

/** The producers whose records this process ships, and the connections that they share. */
export class Producers {
  readonly #options: ProducersOptions
  readonly #link: RedisLink
  readonly #offsets: CommittedOffsetReader
  readonly #streams: StreamRegister
  #all: readonly Producer[] = []
  /** The identity of the database that entries are sent for; `null`: not known. */
  #databaseId: string | null = null

  constructor(options: ProducersOptions) {
    const { redisUrl, redisPrefix, redisMemory, database, log } = options
    this.#options = options
    this.#link = new RedisLink({
      redisUrl,
      redisPrefix,
      log,
      onConnected: () => {
        for (const producer of this.#all) producer.checkForLossSoon()
      },
      crowdedFrom: () => crowdedFrom(redisMemory(), new Set(this.#all.map(({ stream }) => stream)).size),
    })
    this.#offsets = new CommittedOffsetReader({ database, producers: () => this.#all })
    this.#streams = new StreamRegister(database, (id) => this.useDatabase(id), log)
  }

  get all(): readonly Producer[] {
    return this.#all
  }

  get link(): StreamLink {
    return this.#link
  }

  get uncommittedRecords(): number {
    return this.#all.reduce((sum, producer) => sum + producer.uncommittedRecords, 0)
  }

  get uncommittedBytes(): number {
    let bytes = 0
    for (const producer of this.#all) bytes += producer.uncommittedBytes
    return bytes
  }

  /** Age of the oldest record that is not committed; 0: none. */
  backlogAgeMs(): number {
    return Math.max(0, ...this.#all.map((producer) => producer.backlogAgeMs()))
  }

  /**
   * The database that answers: entries say that it is to count them. Where another one answered before, what was sent
   * for that one and is not committed is sent again for this one.
   */
  useDatabase(id: string | null): void {
    if (id === null || id === this.#databaseId) return
    const isOther = this.#databaseId !== null
    this.#databaseId = id
    this.#link.useDatabase(id)
    if (isOther) for (const producer of this.#all) producer.sendAgain()
  }

  /** Its shipping begins when its stream is registered. */
  add({ id, journal, stream, committedOffset, readings = [] }: AddedProducer): Producer {
    const { keepMs, database, log, now } = this.#options
    const producer = new Producer({
      id,
      stream,
      journal,
      committedOffset,
      readings,
      keepMs,
      link: this.#link,
      offsets: this.#offsets,
      database,
      log,
      now,
    })
    this.#all = [...this.#all, producer]
    this.#streams.whenRegistered(stream, () => producer.startShipping())
    return producer
  }

  /** Stops it, and closes its journal. */
  async remove(producer: Producer): Promise<void> {
    await producer.stop()
    this.#all = this.#all.filter((other) => other !== producer)
  }

  /** Called every second: the ages of backlogs come from it. */
  sampleBacklogs(): void {
    for (const producer of this.#all) producer.sampleBacklog()
  }

  /** Reads committed offsets, if that is of use now. Rejects when Postgres does not answer. */
  async readOffsets(): Promise<void> {
    if (this.#all.some((producer) => producer.wantsReading)) await this.#offsets.readAll()
  }

  /** Deletes what was committed for long enough. Rejects when Postgres does not answer. */
  async prune(): Promise<void> {
    for (const producer of this.#all) if (!producer.isEmpty) await producer.prune()
    await this.#registerAgain()
  }

  /** Resolves when everything synced is on the streams, or after `limitMs`. */
  async shipAll(limitMs: number): Promise<void> {
    await Promise.all(this.#all.map((producer) => producer.shipAll(limitMs)))
  }

  /** Closes the connection to Redis. The producers are removed apart. */
  disconnect(): void {
    this.#link.close()
    this.#streams.stop()
  }

  /** A restored Postgres may lack the registration of a stream, and then no worker would read it. */
  async #registerAgain(): Promise<void> {
    const waiting = this.#all.filter(({ uncommittedRecords }) => uncommittedRecords > 0)
    for (const stream of new Set(waiting.map(({ stream }) => stream)))
      await this.#options.database.registerStream(stream)
  }
}
