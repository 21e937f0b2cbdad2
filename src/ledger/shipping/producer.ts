import type { Logger } from '../../lib/logger.ts'
import type { Journal } from '../journal/journal.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import type { CommittedOffsetReader } from './committed-offset-reader.ts'
import {
  countedTo,
  type OffsetReading,
  prunableUpTo,
  READINGS,
  withReading,
} from './committed-offset-reader.ts'
import { Shipper } from './shipper.ts'
import { ShippingProgress } from './shipping-progress.ts'
import type { StreamLink } from './stream/stream-link.ts'

/** Deleted in one transaction: a fraction of a millisecond on the event loop. */
const PRUNE_ROWS = 500

export interface ProducerOptions {
  /** 32 lower-case hex digits. */
  readonly id: string
  /** The full key of the stream that its records go to. */
  readonly stream: string
  readonly journal: Journal
  /** The committed offset in Postgres when this begins; 0 for a new producer. */
  readonly committedOffset: number
  /** Committed offsets that were read before this begins, oldest first: they count for the keep time. */
  readonly readings?: readonly OffsetReading[]
  /** How long committed records are kept. */
  readonly keepMs: number
  readonly link: StreamLink
  readonly offsets: Pick<CommittedOffsetReader, 'read'>
  readonly database: Pick<LedgerDatabase, 'readGaps'>
  readonly log: Logger
  readonly now: () => number
}

/** With one sample a second, an hour at full detail; the age of a longer backlog is exact to a thousandth. */
const MAX_SAMPLES = 4_096

interface Sample {
  readonly atMs: number
  /** Records at or under it, and above the sample before, were closed at `atMs` or after. */
  last: number
}

/** How long the oldest record that is not committed has been waiting, from samples of the highest sequence. */
export class BacklogAge {
  #samples: Sample[] = []
  #sampledAtMs: number
  #strideMs = 0

  constructor(nowMs: number) {
    this.#sampledAtMs = nowMs
  }

  /** @param last the highest sequence at `nowMs`; called about once a second. */
  sample(nowMs: number, last: number, committedOffset: number): void {
    this.#samples = this.#samples.filter((sample) => sample.last > committedOffset)
    const newest = this.#samples.at(-1)
    if (newest === undefined) this.#strideMs = 0
    if (newest !== undefined && this.#sampledAtMs - newest.atMs < this.#strideMs) newest.last = last
    else if (last > (newest?.last ?? committedOffset)) this.#samples.push({ atMs: this.#sampledAtMs, last })
    if (this.#samples.length > MAX_SAMPLES) this.#thin(nowMs)
    this.#sampledAtMs = nowMs
  }

  /** Milliseconds, too high by at most the distance of two samples; 0: everything is committed. */
  ageMs(nowMs: number, committedOffset: number): number {
    const oldest = this.#samples.find((sample) => sample.last > committedOffset)
    return oldest === undefined ? 0 : nowMs - oldest.atMs
  }

  /** Merges every two samples into one; the next ones are as far apart. */
  #thin(nowMs: number): void {
    const thinned: Sample[] = []
    for (const [index, sample] of this.#samples.entries()) {
      const newest = thinned.at(-1)
      if (index % 2 === 1 && newest !== undefined) newest.last = sample.last
      else thinned.push(sample)
    }
    this.#samples = thinned
    this.#strideMs = (nowMs - (thinned[0]?.atMs ?? nowMs)) / thinned.length
  }
}

/** A producer that this process owns or has adopted: its journal, its shipping and its retention. */
export class Producer {
  readonly id: string
  readonly stream: string
  readonly journal: Journal
  readonly #options: ProducerOptions
  readonly #progress: ShippingProgress
  readonly #shipper: Shipper
  readonly #backlog: BacklogAge
  /** Up to where everything was counted, as far as this journal can help. */
  #readings: readonly OffsetReading[]
  #readAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ProducerOptions) {
    const { id, stream, journal, committedOffset, link, offsets, log, now } = options
    this.id = id
    this.stream = stream
    this.journal = journal
    this.#options = options
    this.#readings = options.readings ?? []
    this.#backlog = new BacklogAge(now())
    this.#progress = new ShippingProgress(journal, committedOffset)
    const progress = this.#progress
    this.#shipper = new Shipper({ producer: id, stream, journal, progress, link, offsets, log, now })
    journal.onSynced(() => this.#shipper.wake())
  }

  get committedOffset(): number {
    return this.#progress.committedOffset
  }

  get sent(): number {
    return this.#progress.sent
  }

  get uncommittedRecords(): number {
    return Math.max(this.journal.last - this.#progress.committedOffset, 0)
  }

  get uncommittedBytes(): number {
    return Math.max(this.journal.bytesTotal - this.#progress.committedBytes, 0)
  }

  /** Age of the oldest record that is not committed; 0: none. */
  backlogAgeMs(): number {
    return this.#backlog.ageMs(this.#options.now(), this.committedOffset)
  }

  /**
   * Every record was committed and has been deleted. Where Postgres was restored to before what was deleted,
   * the gap marker that names it must still be counted.
   */
  get isEmpty(): boolean {
    const { prunedTo, last } = this.journal
    return prunedTo === last && this.committedOffset >= last
  }

  startShipping(): void {
    this.#shipper.start()
  }

  /** Redis was unreachable, and may have lost what was sent. */
  checkForLossSoon(): void {
    this.#shipper.checkForLossSoon()
  }

  /** Sends again all that was sent and is not committed. */
  sendAgain(): void {
    this.#progress.sendAgainFrom(this.committedOffset)
    this.#shipper.wake()
  }

  /** The committed offset as read from Postgres now. */
  onCommitted(committedOffset: number): void {
    const nowMs = this.#options.now()
    if (committedOffset < this.committedOffset)
      this.#readings = withReading(this.#readings, { atMs: nowMs, committedOffset }, this.#options.keepMs)
    this.#readAtMs = nowMs
    this.#shipper.onCommitted(committedOffset)
  }

  /** Called every second, whether Postgres answers or not: what waits grows old without it. */
  sampleBacklog(): void {
    this.#backlog.sample(this.#options.now(), this.journal.last, this.committedOffset)
  }

  /**
   * Readings by which the keep time can go on elsewhere, since every record is in the totals; `null`: one is not, or is
   * to fill a gap. Rejects when Postgres does not answer.
   */
  async readingsIfCounted(): Promise<readonly OffsetReading[] | null> {
    const { database, now } = this.#options
    const { last } = this.journal
    const { committedOffset } = this
    if (committedOffset < last) return null
    const gaps = await database.readGaps(this.id)
    if (gaps.some(({ from, to }) => this.journal.hasAnyOf(from, to))) return null
    const readings = this.#readings
    if (readings.some((reading) => reading.committedOffset >= last)) return readings
    return [...readings, { atMs: now(), committedOffset }]
  }

  /** Tells whether a reading now would be of use: something is not committed; or, less often, not deleted. */
  get wantsReading(): boolean {
    if (this.uncommittedRecords > 0) return true
    const { now, keepMs } = this.#options
    return !this.isEmpty && now() - this.#readAtMs >= keepMs / READINGS
  }

  /**
   * Sends again what a worker recorded as a gap and this journal still has. Then deletes what was committed for long
   * enough, in small steps between which the event loop runs. Rejects when Postgres does not answer.
   */
  async prune(): Promise<void> {
    const { offsets, database, keepMs, now } = this.#options
    const askedMs = now()
    // The offset first: a gap that it passed over is then among the gaps, or was filled.
    const committedOffset = await offsets.read(this.id)
    const gaps = await database.readGaps(this.id)
    const held = gaps.filter(({ from, to }) => this.journal.hasAnyOf(from, to))
    this.#shipper.fillGaps(held)
    const counted = countedTo(committedOffset, held)
    // Postgres may have been restored since it was asked. So where the reading starts a keep time, it counts from the
    // answer; where it ends one, from the moment of asking.
    this.#readings = withReading(this.#readings, { atMs: now(), committedOffset: counted }, keepMs)
    const upTo = prunableUpTo(this.#readings, { atMs: askedMs, committedOffset: counted }, keepMs)
    while (this.journal.prune(Math.min(upTo, this.committedOffset), PRUNE_ROWS)) {
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Resolves when everything synced is on the stream, or after `limitMs`. */
  async shipAll(limitMs: number): Promise<void> {
    await this.#shipper.shipAll(limitMs)
  }

  /** Ends shipping and closes the journal. */
  async stop(): Promise<void> {
    await this.#shipper.stop()
    await this.journal.stop()
  }
}
