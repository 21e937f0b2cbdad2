import type { SnapshotSource } from '../../../../call/call-ports.ts'
import type { OnWritten } from '../../journal.ts'
import type { LogRecords } from '../log-records.ts'
import type { SegmentLog } from '../segment-log.ts'
import type { JournalCall, OpenCalls } from './open-calls.ts'

/** An event of a call; written together with everything else that happened in the same turn. */
export class LogOperation {
  readonly kind: 'open' | 'snapshot' | 'close' | 'discard'
  /** `null`: a record or a snapshot of a call that the journal does not have as open. */
  readonly call: JournalCall | null
  /** The record's body, or the usage snapshot once it was asked for; '': there is none. */
  text: string
  readonly #snapshot: SnapshotSource | null
  onWritten: OnWritten | null
  /** The sequence of a record that was written; else 0. */
  sequence = 0

  constructor(
    kind: LogOperation['kind'],
    call: JournalCall | null,
    text: string | SnapshotSource,
    onWritten: OnWritten | null,
  ) {
    this.kind = kind
    this.call = call
    this.text = typeof text === 'string' ? text : ''
    this.#snapshot = typeof text === 'string' ? null : text
    this.onWritten = onWritten
  }

  /** Asks for the usage snapshot, unless the call's record, which says all of it, is handed in too. */
  takeSnapshot(): string {
    this.text = this.call?.isOver === false ? (this.#snapshot?.() ?? '') : ''
    return this.text
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
   * @param snapshots of these calls, the pending ones, are asked for and written too.
   * @throws When the disk refuses: nothing of it is written, and nothing has changed.
   */
  write(operations: readonly LogOperation[], snapshots: readonly JournalCall[]): void {
    const texts = snapshots.map((call) => call.pendingSnapshot?.() ?? null)
    this.#log.start()
    try {
      this.#encode(operations, snapshots, texts)
      this.#log.append()
    } catch (error) {
      for (const { kind, call } of operations) if (kind === 'open' && call !== null) call.number = 0
      throw error
    }
    this.#apply(operations)
    for (const [at, call] of snapshots.entries()) {
      const text = texts[at] ?? null
      if (text !== null) this.#calls.wroteSnapshot(call, text)
    }
  }

  /** @param texts for each of `snapshots`, its text; `null`: nothing is to be written. */
  #encode(
    operations: readonly LogOperation[],
    snapshots: readonly JournalCall[],
    texts: readonly (string | null)[],
  ): void {
    const { frames, counts } = this.#log
    const places = this.#places
    const totals = this.#totals
    let { nextCall, last, bytesTotal } = counts
    places.length = 0
    totals.length = 0
    for (const operation of operations) {
      const { kind, call } = operation
      places.push(frames.length)
      const number = call === null ? 0 : call.number
      switch (kind) {
        case 'open':
          if (call === null) break
          call.number = nextCall++
          frames.open(call.number, call.text)
          break
        case 'close':
          bytesTotal = frames.close(number, ++last, bytesTotal, operation.text)
          break
        case 'snapshot': {
          const text = operation.takeSnapshot()
          if (number > 0 && text !== '') frames.snapshot(number, text)
          break
        }
        case 'discard':
          if (number > 0) frames.discard(number)
      }
      totals.push(bytesTotal)
    }
    for (const [at, { number }] of snapshots.entries()) {
      const text = texts[at] ?? null
      if (number > 0 && text !== null) frames.snapshot(number, text)
    }
    // Nothing to write is tried after a failure, to learn whether the disk takes writes again, and where no snapshot
    // was to be had.
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
          if (call !== null && text !== '') this.#calls.wroteSnapshot(call, text)
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
