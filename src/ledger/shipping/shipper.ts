import { setTimeout as delay } from 'node:timers/promises'
import { serialiseVoid } from '../../call/record-codec.ts'
import type { Logger } from '../../lib/logger.ts'
import type { Journal } from '../journal/journal.ts'
import { LossWatch } from './loss-detector.ts'
import type { StreamLink } from './redis-link.ts'
import { SentIds } from './sent-ids.ts'
import { holeBefore, nextShipment, type Shipment, sentAfterMark } from './shipment.ts'

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
  /** Reads this producer's mark from Postgres, after the call; `onMark` has been told when it resolves. */
  readonly readMark: () => Promise<number>
  /** The mark at the start; 0 for a new producer. */
  readonly mark: number
  readonly log: Logger
  readonly now: () => number
}

/** A closed range of sequences. */
export interface SequenceRange {
  readonly from: number
  readonly to: number
}

/**
 * Brings one producer's records onto its stream, in order, one batch in flight, until Postgres has them all.
 * Decides by `shipment.ts` and `loss.ts`; here is only what happens in between. Never in a call's way.
 */
export class Shipper {
  readonly #options: ShipperOptions
  readonly #ids = new SentIds()
  #mark: number
  #hintedMark = 0
  #sent: number
  /** Bytes of all bodies up to `#sent`, up to the mark, and up to the mark or its hint. */
  #sentBytes: number
  #markBytes: number
  #windowFloorBytes: number
  /** Set while something else than the loop has found that it must go back. */
  #rewindTo: number | null = null
  #again: SequenceRange[] = []
  #batchRows = BATCH_ROWS
  #wake = Promise.withResolvers<void>()
  #stopped = false
  #running: Promise<void> | null = null
  readonly #lossWatch: LossWatch

  constructor(options: ShipperOptions) {
    this.#options = options
    const { producer, stream, link, readMark, now } = options
    this.#lossWatch = new LossWatch({
      producer,
      stream,
      link,
      ids: this.#ids,
      readMark,
      sent: () => this.#sent,
      onLoss: (from) => this.#lost(from),
      onLooked: () => this.kick(),
      now,
    })
    this.#mark = options.mark
    this.#sent = options.mark
    this.#markBytes = options.journal.bytesTotalAt(options.mark)
    this.#windowFloorBytes = this.#markBytes
    this.#sentBytes = this.#markBytes
  }

  get mark(): number {
    return this.#mark
  }

  get sent(): number {
    return this.#sent
  }

  /** Bytes of all bodies up to the mark. */
  get markBytes(): number {
    return this.#markBytes
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** There may be something to do: records were synced, Redis is back. */
  kick(): void {
    this.#wake.resolve()
  }

  /** Redis was away, and may have forgotten: looks for what was sent at once. */
  suspectLoss(): void {
    if (this.#sent > this.#mark) this.#lossWatch.suspect()
    this.kick()
  }

  /** A mark read from Postgres. */
  onMark(mark: number): void {
    const before = this.#mark
    this.#mark = mark
    if (mark < before) {
      this.#options.log.warn({ ...this.#names(), before, mark }, 'Postgres went back; sending again')
      this.#rewindTo = Math.min(this.#rewindTo ?? mark, mark)
    }
    if (mark > before) {
      this.#lossWatch.progressed()
      this.#ids.dropThrough(mark)
    }
    if (mark !== before) {
      if (this.#rewindTo === null) this.#moveSent(sentAfterMark(this.#sent, before, mark))
      this.#measureWindow()
      this.kick()
    }
  }

  /** Sends records again that a worker took for lost: those of `ranges` that the journal still has. */
  sendAgain(ranges: readonly SequenceRange[]): void {
    this.#again = [...ranges]
    if (ranges.length > 0) this.kick()
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
    this.kick()
    await this.#running
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#wake = Promise.withResolvers()
      try {
        this.#rewind()
        this.#considerLoss()
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
      mark: this.#mark,
      hintedMark: this.#hintedMark,
    }
    return nextShipment(state, this.#sentBytes - this.#windowFloorBytes, this.#batchRows)
  }

  async #ship(shipment: Shipment): Promise<void> {
    switch (shipment.kind) {
      case 'nothing':
        return await this.#wait(null)
      case 'window':
        return await this.#awaitWindow()
      case 'void':
        return await this.#shipVoid(shipment, 'journal_pruned')
      case 'records':
        return await this.#shipRecords(shipment.after, shipment.maxRows)
    }
  }

  async #shipRecords(after: number, maxRows: number): Promise<void> {
    const rows = this.#options.journal.read(after, maxRows, BATCH_BYTES)
    const hole = holeBefore(rows[0]?.sequence ?? this.#options.journal.synced + 1, after)
    if (hole !== null) return await this.#shipVoid(hole, 'journal_corrupt')
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

  async #shipVoid({ from, to }: SequenceRange, reason: string): Promise<void> {
    const { log } = this.#options
    log.error({ ...this.#names(), from, to, reason }, 'records are nowhere any more and count as lost')
    const [id] = await this.#append([{ sequence: to, body: serialiseVoid(from, to, reason) }])
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
      .filter(({ sequence }) => sequence <= range.to && sequence <= this.#mark)
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
    this.#lossWatch.sent()
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
      if (hint > this.#hintedMark && hint <= this.#sent) {
        this.#hintedMark = hint
        this.#measureWindow()
      }
    } catch {
      // Only a hint: the mark itself is read from Postgres every second.
    }
  }

  #measureWindow(): void {
    const { journal } = this.#options
    this.#markBytes = journal.bytesTotalAt(this.#mark)
    const floor = Math.min(Math.max(this.#mark, this.#hintedMark), this.#sent)
    this.#windowFloorBytes = journal.bytesTotalAt(floor)
  }

  #moveSent(sequence: number): void {
    this.#sent = sequence
    this.#sentBytes = this.#options.journal.bytesTotalAt(sequence)
  }

  #rewind(): void {
    if (this.#rewindTo === null) return
    this.#moveSent(Math.max(this.#rewindTo, this.#mark))
    this.#rewindTo = null
    this.#hintedMark = 0
    this.#ids.clear()
    this.#measureWindow()
  }

  #considerLoss(): void {
    if (this.#sent <= this.#mark) this.#lossWatch.rest()
    else if (this.#options.link.connected) this.#lossWatch.consider()
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
    const untilLookMs = this.#options.link.connected ? this.#lossWatch.dueInMs : Number.POSITIVE_INFINITY
    const waitMs = Math.min(limitMs ?? Number.POSITIVE_INFINITY, untilLookMs)
    if (waitMs === Number.POSITIVE_INFINITY) return await this.#wake.promise
    const timer = setTimeout(() => this.kick(), Math.max(waitMs, 1))
    await this.#wake.promise
    clearTimeout(timer)
  }

  #names(): object {
    return { producer: this.#options.producer, stream: this.#options.stream }
  }
}
