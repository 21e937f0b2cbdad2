import { setTimeout as delay } from 'node:timers/promises'
import { serialiseGapMarker } from '../../call/record-codec.ts'
import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Journal } from '../journal/sqlite/sqlite-journal.ts'
import { LossDetector } from './loss-detector.ts'
import type { StreamLink } from './redis-link.ts'
import { SentIds } from './sent-ids.ts'
import { gapBefore, nextShipment, type Shipment, sentAfterCommit } from './shipment.ts'

const BATCH_ROWS = 500
const BATCH_ROWS_MIN = 8
const BATCH_BYTES = 1024 * 1024
/** How often a full window looks for a hint that it may go on. */
const WINDOW_RETRY_MS = 100
/** After an error of the journal itself. */
const FAULT_RETRY_MS = 5_000
const SHIP_ALL_POLL_MS = 5

export interface ShipperOptions {
  readonly producer: string
  readonly stream: string
  readonly journal: Pick<Journal, 'synced' | 'last' | 'prunedTo' | 'bytesTotalAt' | 'read' | 'dropRecent'>
  readonly link: StreamLink
  /** Reads this producer's mark from Postgres, after the call; `onCommitted` has been told when it resolves. */
  readonly readCommittedOffset: () => Promise<number>
  /** The mark at the start; 0 for a new producer. */
  readonly committedOffset: number
  readonly log: Logger
  readonly now: () => number
}

/**
 * Brings one producer's records onto its stream, in order, one batch in flight, until Postgres has them all.
 * Decides by `shipment.ts` and `loss.ts`; here is only what happens in between. Never in a call's way.
 */
export class Shipper {
  readonly #options: ShipperOptions
  readonly #ids = new SentIds()
  #committedOffset: number
  #hintedOffset = 0
  #sent: number
  /** Bytes of all bodies up to `#sent`, up to the mark, and up to the mark or its hint. */
  #sentBytes: number
  #committedBytes: number
  #windowFloorBytes: number
  /** Set while something else than the loop has found that it must go back. */
  #rewindTo: number | null = null
  #again: SequenceRange[] = []
  #batchRows = BATCH_ROWS
  #wake = Promise.withResolvers<void>()
  #stopped = false
  #running: Promise<void> | null = null
  readonly #lossDetector: LossDetector

  constructor(options: ShipperOptions) {
    this.#options = options
    const { producer, stream, link, readCommittedOffset, now } = options
    this.#lossDetector = new LossDetector({
      producer,
      stream,
      link,
      ids: this.#ids,
      readCommittedOffset,
      sent: () => this.#sent,
      onLoss: (from) => this.#lost(from),
      onChecked: () => this.wake(),
      now,
    })
    this.#committedOffset = options.committedOffset
    this.#sent = options.committedOffset
    this.#committedBytes = options.journal.bytesTotalAt(options.committedOffset)
    this.#windowFloorBytes = this.#committedBytes
    this.#sentBytes = this.#committedBytes
  }

  get committedOffset(): number {
    return this.#committedOffset
  }

  get sent(): number {
    return this.#sent
  }

  /** Bytes of all bodies up to the mark. */
  get committedBytes(): number {
    return this.#committedBytes
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** There may be something to do: records were synced, Redis is back. */
  wake(): void {
    this.#wake.resolve()
  }

  /** Redis was away, and may have forgotten: looks for what was sent at once. */
  checkForLossSoon(): void {
    if (this.#sent > this.#committedOffset) this.#lossDetector.checkSoon()
    this.wake()
  }

  /** A mark read from Postgres. */
  onCommitted(committedOffset: number): void {
    const before = this.#committedOffset
    this.#committedOffset = committedOffset
    if (committedOffset < before) {
      this.#options.log.warn(
        { ...this.#names(), before, mark: committedOffset },
        'Postgres went back; sending again',
      )
      this.#rewindTo = Math.min(this.#rewindTo ?? committedOffset, committedOffset)
    }
    if (committedOffset > before) {
      this.#lossDetector.progressed()
      this.#ids.dropThrough(committedOffset)
    }
    if (committedOffset !== before) {
      if (this.#rewindTo === null) this.#moveSent(sentAfterCommit(this.#sent, before, committedOffset))
      this.#measureWindow()
      this.wake()
    }
  }

  /** Sends records again that a worker took for lost: those of `ranges` that the journal still has. */
  sendAgain(ranges: readonly SequenceRange[]): void {
    this.#again = [...ranges]
    if (ranges.length > 0) this.wake()
  }

  /** Resolves when everything synced is on the stream, or after `limitMs`. */
  async shipAll(limitMs: number): Promise<void> {
    const { now, journal } = this.#options
    const endMs = now() + limitMs
    while (this.#sent < journal.synced && now() < endMs) await delay(SHIP_ALL_POLL_MS)
  }

  /** Ends the loop after the batch in flight. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#wake = Promise.withResolvers()
      try {
        this.#rewind()
        this.#checkForLoss()
        if (!this.#options.link.connected) await this.#wait(null)
        else if (this.#again.length > 0) await this.#shipAgain()
        else await this.#ship(this.#next())
      } catch (error) {
        this.#options.log.error({ ...this.#names(), err: error }, 'the journal cannot be read')
        await this.#wait(FAULT_RETRY_MS)
      }
    }
  }

  #next(): Shipment {
    const { journal } = this.#options
    const state = {
      prunedTo: journal.prunedTo,
      synced: journal.synced,
      sent: this.#sent,
      committedOffset: this.#committedOffset,
      hintedOffset: this.#hintedOffset,
    }
    return nextShipment(state, this.#sentBytes - this.#windowFloorBytes, this.#batchRows)
  }

  async #ship(shipment: Shipment): Promise<void> {
    switch (shipment.kind) {
      case 'nothing':
        return await this.#wait(null)
      case 'window':
        return await this.#awaitWindow()
      case 'gap':
        return await this.#shipGapMarker(shipment, 'journal_pruned')
      case 'records':
        return await this.#shipRecords(shipment.after, shipment.maxRows)
    }
  }

  async #shipRecords(after: number, maxRows: number): Promise<void> {
    const rows = this.#options.journal.read(after, maxRows, BATCH_BYTES)
    const gap = gapBefore(rows[0]?.sequence ?? this.#options.journal.synced + 1, after)
    if (gap !== null) return await this.#shipGapMarker(gap, 'journal_corrupt')
    const broken = rows.findIndex(({ sequence }, index) => sequence !== after + 1 + index)
    const batch = broken === -1 ? rows : rows.slice(0, broken)
    const ids = await this.#append(batch)
    for (const [index, id] of ids.entries()) {
      const row = batch[index]
      if (row === undefined) break
      this.#ids.add(row.sequence, id)
      this.#advance(row.sequence, row.bytesTotal)
    }
    this.#options.journal.dropRecent(this.#sent)
  }

  async #shipGapMarker({ from, to }: SequenceRange, reason: string): Promise<void> {
    const { log } = this.#options
    log.error({ ...this.#names(), from, to, reason }, 'records are nowhere any more and count as lost')
    const [id] = await this.#append([{ sequence: to, body: serialiseGapMarker(from, to, reason) }])
    if (id === undefined) return
    this.#ids.add(to, id)
    this.#advance(to, this.#options.journal.bytesTotalAt(to))
  }

  /** Those at or under the mark that workers wait for; what the journal does not have stays a gap. */
  async #shipAgain(): Promise<void> {
    const [range, ...rest] = this.#again
    this.#again = rest
    if (range === undefined) return
    const { journal } = this.#options
    const rows = journal
      .read(range.from - 1, this.#batchRows, BATCH_BYTES)
      .filter(({ sequence }) => sequence <= range.to && sequence <= this.#committedOffset)
    const newest = rows.at(-1)
    if (newest === undefined) return
    const ids = await this.#append(rows)
    if (ids.length < rows.length) this.#again = [range, ...this.#again]
    else if (newest.sequence < range.to)
      this.#again = [{ from: newest.sequence + 1, to: range.to }, ...this.#again]
  }

  #advance(sequence: number, bytesTotal: number): void {
    if (sequence <= this.#sent) return
    this.#sent = sequence
    this.#sentBytes = bytesTotal
    this.#lossDetector.sent()
  }

  /** The ids of the rows that are on the stream, from the first on; none when nothing is clear. */
  async #append(rows: readonly { sequence: number; body: string }[]): Promise<readonly string[]> {
    const { link, stream, producer } = this.#options
    try {
      const ids = await link.append(stream, producer, rows)
      this.#batchRows = Math.min(this.#batchRows * 2, BATCH_ROWS)
      return ids
    } catch {
      // The link says so and comes back; a smaller batch may get through where this one took too long.
      this.#batchRows = Math.max(this.#batchRows >>> 1, BATCH_ROWS_MIN)
      return []
    }
  }

  async #awaitWindow(): Promise<void> {
    const { link, producer } = this.#options
    await this.#wait(WINDOW_RETRY_MS)
    if (!link.connected) return
    try {
      const hint = await link.readHint(producer)
      if (hint > this.#hintedOffset && hint <= this.#sent) {
        this.#hintedOffset = hint
        this.#measureWindow()
      }
    } catch {
      // Only a hint: the mark itself is read from Postgres every second.
    }
  }

  #measureWindow(): void {
    const { journal } = this.#options
    this.#committedBytes = journal.bytesTotalAt(this.#committedOffset)
    const floor = Math.min(Math.max(this.#committedOffset, this.#hintedOffset), this.#sent)
    this.#windowFloorBytes = journal.bytesTotalAt(floor)
  }

  #moveSent(sequence: number): void {
    this.#sent = sequence
    this.#sentBytes = this.#options.journal.bytesTotalAt(sequence)
  }

  #rewind(): void {
    if (this.#rewindTo === null) return
    this.#moveSent(Math.max(this.#rewindTo, this.#committedOffset))
    this.#rewindTo = null
    this.#hintedOffset = 0
    this.#ids.clear()
    this.#measureWindow()
  }

  #checkForLoss(): void {
    if (this.#sent <= this.#committedOffset) this.#lossDetector.reset()
    else if (this.#options.link.connected) this.#lossDetector.check()
  }

  #lost(from: number): void {
    this.#options.log.warn(
      { ...this.#names(), from, sent: this.#sent },
      'Redis has lost entries; sending again',
    )
    this.#rewindTo = Math.min(this.#rewindTo ?? from, from)
  }

  /** Until `kick`, the time to look for loss, or `limitMs`. */
  async #wait(limitMs: number | null): Promise<void> {
    const untilCheckMs = this.#options.link.connected ? this.#lossDetector.dueInMs : Number.POSITIVE_INFINITY
    const waitMs = Math.min(limitMs ?? Number.POSITIVE_INFINITY, untilCheckMs)
    if (waitMs === Number.POSITIVE_INFINITY) return await this.#wake.promise
    const timer = setTimeout(() => this.wake(), Math.max(waitMs, 1))
    await this.#wake.promise
    clearTimeout(timer)
  }

  #names(): object {
    return { producer: this.#options.producer, stream: this.#options.stream }
  }
}
