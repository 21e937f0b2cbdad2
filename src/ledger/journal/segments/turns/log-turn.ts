import type { OnWritten } from '../../journal.ts'
import type { LogRecords } from '../log-records.ts'
import type { SegmentLog } from '../segment-log.ts'
import type { JournalCall, OpenCalls } from './open-calls.ts'

/** An event of a call; written together with everything else that happened in the same turn. */
export class LogOperation {
  readonly kind: 'open' | 'snapshot' | 'close' | 'discard'
  /** `null`: a record or a snapshot of a call that the journal does not have as open. */
  readonly call: JournalCall | null
  /** The usage snapshot, or the record's body. */
  readonly text: string
  onWritten: OnWritten | null
  /** The sequence of a record that was written; else 0. */
  sequence = 0

  constructor(
    kind: LogOperation['kind'],
    call: JournalCall | null,
    text: string,
    onWritten: OnWritten | null,
  ) {
    this.kind = kind
    this.call = call
    this.text = text
    this.onWritten = onWritten
  }
}

export interface LogTurnOptions {
  readonly log: SegmentLog
  readonly calls: OpenCalls
  readonly records: LogRecords
}

/** Writes the operations of one turn: frames for all of them, in order, in one write; then what follows from it. */
export class LogTurn {
  readonly #log: SegmentLog
  readonly #calls: OpenCalls
  readonly #records: LogRecords
  /** Calls whose discarding was not synced, and how many were discarded before them. */
  #discarded: number[] = []
  #discardsBefore: number
  /** For each operation, where its frame begins in the write, and the bytes of all bodies with it. */
  readonly #places: number[] = []
  readonly #totals: number[] = []

  constructor({ log, calls, records }: LogTurnOptions) {
    this.#log = log
    this.#calls = calls
    this.#records = records
    this.#discardsBefore = log.counts.discards
  }

  /** Calls whose discarding may not survive power loss. */
  get discarded(): readonly number[] {
    return this.#discarded
  }

  /** The first `count` of all calls that were ever discarded survive power loss as discarded. */
  syncedDiscards(count: number): void {
    if (count > this.#discardsBefore) this.#discarded = this.#discarded.slice(count - this.#discardsBefore)
    this.#discardsBefore = count
  }

  /**
   * Writes the turn.
   *
   * @param snapshots of these calls, the pending ones, are written too.
   * @throws When the disk refuses: nothing of it is written, and nothing has changed.
   */
  write(operations: readonly LogOperation[], snapshots: readonly JournalCall[]): void {
    this.#log.start()
    try {
      this.#encode(operations, snapshots)
      this.#log.append()
    } catch (error) {
      for (const { kind, call } of operations) if (kind === 'open' && call !== null) call.number = 0
      throw error
    }
    this.#apply(operations)
    for (const call of snapshots)
      if (call.pendingSnapshot !== null) this.#calls.wroteSnapshot(call, call.pendingSnapshot)
  }

  #encode(operations: readonly LogOperation[], snapshots: readonly JournalCall[]): void {
    const { frames, counts } = this.#log
    const places = this.#places
    const totals = this.#totals
    let { nextCall, last, bytesTotal } = counts
    places.length = 0
    totals.length = 0
    for (const { kind, call, text } of operations) {
      places.push(frames.length)
      const number = call === null ? 0 : call.number
      switch (kind) {
        case 'open':
          if (call === null) break
          call.number = nextCall++
          frames.open(call.number, call.text)
          break
        case 'close':
          bytesTotal = frames.close(number, ++last, bytesTotal, text)
          break
        case 'snapshot':
          if (number > 0) frames.snapshot(number, text)
          break
        case 'discard':
          if (number > 0) frames.discard(number)
      }
      totals.push(bytesTotal)
    }
    for (const { number, pendingSnapshot } of snapshots) {
      if (number > 0 && pendingSnapshot !== null) frames.snapshot(number, pendingSnapshot)
    }
    // Nothing to write is tried only after a failure: to learn whether the disk takes writes again.
    if (frames.length === 0) frames.pruned(counts.prunedTo, counts.firstSegment)
  }

  #apply(operations: readonly LogOperation[]): void {
    const { counts, current } = this.#log
    const writtenAt = current.bytes - this.#log.frames.length
    for (let at = 0; at < operations.length; at++) {
      const operation = operations[at]
      if (operation === undefined) break
      const { kind, call, text } = operation
      switch (kind) {
        case 'open':
          counts.nextCall++
          if (call !== null) this.#calls.opened(call, current)
          break
        case 'close': {
          counts.last++
          operation.sequence = counts.last
          counts.bytesTotal = this.#totals[at] ?? 0
          const number = call === null ? 0 : call.number
          const row = { sequence: counts.last, bytesTotal: counts.bytesTotal, body: text, call: number }
          this.#records.add(row, writtenAt + (this.#places[at] ?? 0))
          if (call !== null) this.#calls.ended(call)
          break
        }
        case 'snapshot':
          if (call !== null) this.#calls.wroteSnapshot(call, text)
          break
        case 'discard':
          if (call === null || call.number === 0) break
          counts.discards++
          this.#discarded.push(call.number)
          this.#calls.ended(call)
      }
    }
  }
}
