import { setTimeout as delay } from 'node:timers/promises'
import { serialiseGapMarker } from '../../call/codec/record-codec.ts'
import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Journal, JournalRow } from '../journal/journal.ts'
import type { CommittedOffsetReader } from './committed-offset-reader.ts'
import { LossDetector } from './loss-detector.ts'
import { gapBefore, nextShipment, type Shipment, type ShippingProgress } from './shipping-progress.ts'
import type { StreamLink } from './stream/stream-link.ts'
import { WakeSignal } from './wake-signal.ts'

const BATCH_BYTES = 1024 * 1024
/** How often a full window looks for a hint that it may go on. */
const WINDOW_RETRY_MS = 100
/** After an error of the journal itself. */
const FAILURE_RETRY_MS = 5_000
const SHIP_ALL_POLL_MS = 5

export interface ShipperOptions {
  readonly producer: string
  readonly stream: string
  readonly journal: Journal
  readonly progress: ShippingProgress
  readonly link: StreamLink
  readonly offsets: Pick<CommittedOffsetReader, 'read'>
  readonly log: Logger
  readonly now: () => number
}

/** In one batch at most. */
export const BATCH_ROWS = 500
const BATCH_ROWS_MIN = 8

/** Appends batches of one producer to its stream. Batches shrink while answers fail and grow again after. */
class BatchAppender {
  readonly #link: StreamLink
  readonly #stream: string
  readonly #producer: string
  #maxRows = BATCH_ROWS

  constructor(link: StreamLink, stream: string, producer: string) {
    this.#link = link
    this.#stream = stream
    this.#producer = producer
  }

  /** How many records the next batch may have. */
  get maxRows(): number {
    return this.#maxRows
  }

  /** The ids of the rows that are on the stream, from the first on; none when the answer is not clear. */
  async append(rows: readonly Pick<JournalRow, 'sequence' | 'body'>[]): Promise<readonly string[]> {
    try {
      const ids = await this.#link.append(this.#stream, this.#producer, rows)
      this.#maxRows = Math.min(this.#maxRows * 2, BATCH_ROWS)
      return ids
    } catch {
      // The link logs it and connects again; a smaller batch may get through where this one took too long.
      this.#maxRows = Math.max(this.#maxRows >>> 1, BATCH_ROWS_MIN)
      return []
    }
  }
}

interface GapFillerOptions {
  readonly journal: Pick<Journal, 'read'>
  readonly progress: ShippingProgress
  readonly appender: BatchAppender
  /** Bound of the bodies in one batch, but for its first record. */
  readonly maxBytes: number
}

/** Sends records again that workers recorded as gaps and that the journal still has. */
class GapFiller {
  readonly #options: GapFillerOptions
  #gaps: readonly SequenceRange[] = []

  constructor(options: GapFillerOptions) {
    this.#options = options
  }

  /** No gap is left to fill. */
  get isDone(): boolean {
    return this.#gaps.length === 0
  }

  /** The gaps to fill from now on. */
  set(gaps: readonly SequenceRange[]): void {
    this.#gaps = gaps
  }

  /** Sends one batch of the first gap. Records that the journal lacks stay a gap. */
  async sendBatch(): Promise<void> {
    const [gap, ...later] = this.#gaps
    this.#gaps = later
    if (gap === undefined) return
    const { journal, progress, appender, maxBytes } = this.#options
    const rows = journal
      .read(gap.from - 1, appender.maxRows, maxBytes)
      .filter(({ sequence }) => sequence <= gap.to && sequence <= progress.committedOffset)
    const newest = rows.at(-1)
    if (newest === undefined) return
    const ids = await appender.append(rows)
    if (ids.length < rows.length) this.#gaps = [gap, ...this.#gaps]
    else if (newest.sequence < gap.to) this.#gaps = [{ from: newest.sequence + 1, to: gap.to }, ...this.#gaps]
  }
}

/**
 * Brings one producer's records onto its stream, in order, one batch in flight, until Postgres has them all. What is
 * sent next is decided in `shipping-progress.ts`, what was lost in `loss-detector.ts`. No call waits for anything here.
 */
export class Shipper {
  readonly #options: ShipperOptions
  readonly #wake = new WakeSignal()
  readonly #losses: LossDetector
  readonly #appender: BatchAppender
  readonly #gapFiller: GapFiller
  #stopped = false
  #running: Promise<void> | null = null

  constructor(options: ShipperOptions) {
    this.#options = options
    const { producer, stream, journal, progress, link } = options
    this.#losses = new LossDetector({ ...options, wake: this.#wake })
    this.#appender = new BatchAppender(link, stream, producer)
    this.#gapFiller = new GapFiller({ journal, progress, appender: this.#appender, maxBytes: BATCH_BYTES })
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** There may be something to do: records were synced. */
  wake(): void {
    this.#wake.wake()
  }

  /** Redis was unreachable, and may have lost what was sent. */
  checkForLossSoon(): void {
    this.#losses.suspect()
    this.#wake.wake()
  }

  /** A committed offset was read from Postgres. */
  onCommitted(committedOffset: number): void {
    const { progress, log } = this.#options
    const before = progress.committedOffset
    const change = progress.setCommittedOffset(committedOffset)
    if (change === 'unchanged') return
    if (change === 'advanced') this.#losses.progressed()
    else
      log.warn(
        { event: 'ledger.regressed', ...this.#names(), before, mark: committedOffset },
        'Postgres was restored to an earlier state; the journal sends records again',
      )
    this.#wake.wake()
  }

  /** Sends records of recorded gaps again: those of `gaps` that the journal still has. */
  fillGaps(gaps: readonly SequenceRange[]): void {
    this.#gapFiller.set(gaps)
    if (gaps.length > 0) this.#wake.wake()
  }

  /** Resolves when everything synced is on the stream, or after `limitMs`. */
  async shipAll(limitMs: number): Promise<void> {
    const { now, journal, progress } = this.#options
    const endMs = now() + limitMs
    while (progress.sent < journal.synced && now() < endMs) await delay(SHIP_ALL_POLL_MS)
  }

  /** Ends the loop after the batch in flight. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#wake.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { progress, link, log } = this.#options
    while (!this.#stopped) {
      this.#wake.reset()
      try {
        progress.rewind()
        this.#losses.check()
        if (!link.connected) await this.#sleep(null)
        else if (!this.#gapFiller.isDone) await this.#gapFiller.sendBatch()
        else await this.#ship(this.#nextShipment())
      } catch (error) {
        log.error({ event: 'journal.unreadable', ...this.#names(), err: error }, 'the journal cannot be read')
        await this.#sleep(FAILURE_RETRY_MS)
      }
    }
  }

  #nextShipment(): Shipment {
    const { progress, link, stream } = this.#options
    const isCrowded = link.isCrowded(stream)
    return nextShipment(progress.offsets(), progress.windowBytes, this.#appender.maxRows, isCrowded)
  }

  async #ship(shipment: Shipment): Promise<void> {
    switch (shipment.kind) {
      case 'nothing':
        return await this.#sleep(null)
      case 'window':
        return await this.#awaitWindow()
      case 'gap':
        return await this.#shipGap(shipment, 'journal_pruned')
      case 'records':
        return await this.#shipRecords(shipment.after, shipment.maxRows)
    }
  }

  async #shipRecords(after: number, maxRows: number): Promise<void> {
    const { journal, progress } = this.#options
    const rows = journal.read(after, maxRows, BATCH_BYTES)
    const gap = gapBefore(rows[0]?.sequence ?? journal.synced + 1, after)
    if (gap !== null) return await this.#shipGap(gap, 'journal_corrupt')
    const end = rows.findIndex(({ sequence }, index) => sequence !== after + 1 + index)
    const batch = end === -1 ? rows : rows.slice(0, end)
    const ids = await this.#appender.append(batch)
    for (const [index, id] of ids.entries()) {
      const row = batch[index]
      if (row === undefined) break
      if (progress.addSent(row.sequence, row.bytesTotal, id)) this.#losses.sent()
    }
    journal.dropRecent(progress.sent)
  }

  async #shipGap({ from, to }: SequenceRange, reason: string): Promise<void> {
    const { journal, progress, log } = this.#options
    log.error(
      { event: 'ledger.gap', ...this.#names(), from, to, reason },
      'records exist nowhere any more; they are recorded as a gap',
    )
    const [id] = await this.#appender.append([{ sequence: to, body: serialiseGapMarker(from, to, reason) }])
    if (id !== undefined && progress.addSent(to, journal.bytesTotalAt(to), id)) this.#losses.sent()
  }

  async #awaitWindow(): Promise<void> {
    const { link, stream, producer, progress } = this.#options
    await this.#sleep(WINDOW_RETRY_MS)
    if (!link.connected) return
    try {
      progress.setHint(await link.readHint(stream, producer))
    } catch {
      // Only a hint: the committed offset itself is read from Postgres every second.
    }
  }

  /** Until `wake`, the time of the next loss check, or `limitMs`. */
  async #sleep(limitMs: number | null): Promise<void> {
    const untilCheckMs = this.#options.link.connected ? this.#losses.dueInMs : Number.POSITIVE_INFINITY
    await this.#wake.sleep(Math.min(limitMs ?? Number.POSITIVE_INFINITY, untilCheckMs))
  }

  #names(): object {
    return { producer: this.#options.producer, stream: this.#options.stream }
  }
}
