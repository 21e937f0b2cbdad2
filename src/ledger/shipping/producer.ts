import type { SequenceRange } from '../../domain/sequence-range.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Journal } from '../journal/sqlite/sqlite-journal.ts'
import type { ProducerFolder } from '../recovery/producer-folder.ts'
import { BacklogAge } from './backlog-age.ts'
import type { StreamLink } from './redis-link.ts'
import { countedTo, type OffsetReading, prunableUpTo, READINGS, withReading } from './retention.ts'
import { Shipper } from './shipper.ts'

/** Deleted in one transaction: a fraction of a millisecond on the event loop. */
const PRUNE_ROWS = 500
const GAPS_LIMIT_MS = 5_000

export interface ProducerOptions {
  readonly folder: ProducerFolder
  readonly stream: string
  readonly journal: Journal
  /** In Postgres when this begins; 0 for a new producer. */
  readonly committedOffset: number
  readonly keepMs: number
  readonly link: StreamLink
  readonly readCommittedOffset: () => Promise<number>
  /** Unfilled holes that workers recorded for this producer. */
  readonly readGaps: () => Promise<readonly SequenceRange[]>
  readonly log: Logger
  readonly now: () => number
}

/** A producer in this process's care, its own or an adopted one: its journal, its shipping and its forgetting. */
export class Producer {
  readonly folder: ProducerFolder
  readonly stream: string
  readonly journal: Journal
  readonly #options: ProducerOptions
  readonly #shipper: Shipper
  readonly #backlog: BacklogAge
  /** Up to where everything was counted, as far as this journal can help. */
  #readings: readonly OffsetReading[] = []
  #committedReadMs = Number.NEGATIVE_INFINITY

  constructor(options: ProducerOptions) {
    const { folder, stream, journal, link, readCommittedOffset, committedOffset, log, now } = options
    this.folder = folder
    this.stream = stream
    this.journal = journal
    this.#options = options
    this.#backlog = new BacklogAge(now())
    this.#shipper = new Shipper({
      producer: folder.producer,
      stream,
      journal,
      link,
      readCommittedOffset,
      committedOffset,
      log,
      now,
    })
  }

  get id(): string {
    return this.folder.producer
  }

  get committedOffset(): number {
    return this.#shipper.committedOffset
  }

  get sent(): number {
    return this.#shipper.sent
  }

  get uncommittedRecords(): number {
    return Math.max(this.journal.last - this.committedOffset, 0)
  }

  get uncommittedBytes(): number {
    return Math.max(this.journal.bytesTotal - this.#shipper.committedBytes, 0)
  }

  /** Of the oldest record that is not committed; 0: none. */
  backlogAgeMs(): number {
    return this.#backlog.ageMs(this.#options.now(), this.committedOffset)
  }

  /**
   * Whether every record was committed and has been forgotten. Where Postgres has gone back behind what was
   * forgotten, the void that names it is still to be counted.
   */
  get isEmpty(): boolean {
    const { prunedTo, last } = this.journal
    return prunedTo === last && this.committedOffset >= last
  }

  startShipping(): void {
    this.#shipper.start()
  }

  /** Records were synced, or Redis is there. */
  wake(): void {
    this.#shipper.wake()
  }

  /** Redis was away. */
  checkForLossSoon(): void {
    this.#shipper.checkForLossSoon()
  }

  /** The mark as read from Postgres now. */
  onCommitted(committedOffset: number): void {
    const nowMs = this.#options.now()
    if (committedOffset < this.committedOffset)
      this.#readings = withReading(this.#readings, { atMs: nowMs, committedOffset }, this.#options.keepMs)
    this.#committedReadMs = nowMs
    this.#shipper.onCommitted(committedOffset)
    this.#backlog.sample(nowMs, this.journal.last, committedOffset)
  }

  /** Whether a mark read now would be of use: something is not committed; or, less often, not forgotten. */
  get wantsCommittedOffset(): boolean {
    if (this.uncommittedRecords > 0) return true
    const { now, keepMs } = this.#options
    return !this.isEmpty && now() - this.#committedReadMs >= keepMs / READINGS
  }

  /**
   * Sends again what a worker gave up for lost and this journal still has, then deletes what was committed for
   * long enough, in small steps between which the event loop runs. Rejects when Postgres is away.
   */
  async prune(): Promise<void> {
    const { readCommittedOffset, readGaps, keepMs, now } = this.#options
    const askedMs = now()
    // The mark first: a gap that it passed over is then among the gaps, or was filled.
    const committedOffset = await readCommittedOffset()
    const gaps = await withinDeadline(readGaps(), GAPS_LIMIT_MS)
    const held = gaps.filter(({ from, to }) => this.journal.hasAnyOf(from, to))
    this.#shipper.sendAgain(held)
    const counted = countedTo(committedOffset, held)
    // Postgres may have gone back since it was asked: as a beginning the reading is as late as its answer, as an
    // end as early as its question.
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

  /** Ends shipping and lets go of the journal, not of the folder's lock. */
  async stop(): Promise<void> {
    await this.#shipper.stop()
    await this.journal.stop()
  }
}
