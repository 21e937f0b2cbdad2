import type { CloseFrame, Frame, LogPosition, SegmentBegin } from '../format/frames.ts'
import { RecordIndex } from '../record-index.ts'
import type { LogCounts } from '../segment-log.ts'
import type { SyncedState } from '../upkeep/log-sync.ts'

/** The position for a log of which nothing is known to be synced: all of it is written once more. */
const NOTHING_SYNCED: SyncedState = { end: { segment: 0, position: 0 }, last: 0, bytesTotal: 0, discards: 0 }

/** A call that a log has as open. */
export interface RecoveredCall {
  readonly number: number
  readonly text: string
  snapshot: string | null
  /** How many damaged regions the log had before it last said that the call was open. */
  damagesBefore: number
}

/** The calls that are open in a log that is being read. */
class RecoveredCalls {
  readonly #open = new Map<number, RecoveredCall>()
  readonly #doubted = new Map<number, RecoveredCall>()
  #damages = 0
  /** So many calls were opened of which nothing can be read. Some of them may have ended. */
  unknown = 0

  /** The calls that were under way, by rising number. */
  get underWay(): RecoveredCall[] {
    return [...this.#open.values()].sort((a, b) => a.number - b.number)
  }

  /** Calls that were under way or had ended: which of the two cannot be read. */
  get doubted(): RecoveredCall[] {
    return [...this.#doubted.values()]
  }

  open(number: number, text: string): void {
    this.#open.set(number, { number, text, snapshot: null, damagesBefore: this.#damages })
  }

  carried(number: number, text: string, snapshot: string | null): void {
    this.#doubted.delete(number)
    this.#open.set(number, { number, text, snapshot, damagesBefore: this.#damages })
  }

  snapshot(number: number, snapshot: string): void {
    const call = this.#open.get(number) ?? this.#doubted.get(number)
    if (call === undefined) return // How it was opened cannot be read.
    call.snapshot = snapshot
    call.damagesBefore = this.#damages
    this.#doubted.delete(number)
    this.#open.set(number, call)
  }

  end(number: number): void {
    this.#open.delete(number)
    this.#doubted.delete(number)
  }

  /** A region of the log cannot be read. */
  damage(): void {
    this.#damages++
  }

  /** In what cannot be read, calls ended: each that was open before the last region may be one of them. */
  doubt(): void {
    for (const call of this.#open.values()) {
      if (call.damagesBefore === this.#damages) continue
      this.#open.delete(call.number)
      this.#doubted.set(call.number, call)
    }
  }
}

/** The content of a log, frame by frame, from its beginning. Nothing here reads files. */
export class LogReplay {
  readonly counts: LogCounts = {
    last: 0,
    bytesTotal: 0,
    prunedTo: 0,
    nextCall: 1,
    discards: 0,
    firstSegment: 0,
  }
  readonly calls = new RecoveredCalls()
  /** The content of each segment that was read, in order. */
  readonly indexes = new Map<number, RecordIndex>()
  /** Calls that were discarded behind what was synced. */
  discarded: number[] = []
  /** Something that was written cannot be read. */
  isDamaged = false
  isTailLost = false
  /** The state of the log at the place up to which it was synced. */
  synced: SyncedState | null = null
  readonly #syncedEnd: LogPosition | null
  #index = new RecordIndex(0, 0)
  #isBegun = false
  /** Since the last damage no frame said what had been numbered before; or none said all counts. */
  #isLastUnknown = false
  #areCountsUnknown = false

  /** @param syncedEnd up to where the log was synced; `null`: not known. */
  constructor(syncedEnd: LogPosition | null) {
    this.#syncedEnd = syncedEnd
    if (syncedEnd === null) this.synced = { ...NOTHING_SYNCED }
  }

  /** The frames from now on are of this segment. */
  startSegment(segment: number): void {
    this.#index = new RecordIndex(this.counts.last, this.counts.bytesTotal)
    this.indexes.set(segment, this.#index)
  }

  /** The log was read up to here and is synced up to here: what follows may be only in the memory of the kernel. */
  passSync(): void {
    if (this.synced !== null) return
    const { last, bytesTotal, discards } = this.counts
    this.synced = { end: this.#syncedEnd ?? NOTHING_SYNCED.end, last, bytesTotal, discards }
  }

  frame(frame: Frame): void {
    const { counts, calls } = this
    const isFirst = !this.#isBegun
    this.#isBegun = true
    switch (frame.kind) {
      case 'begin':
        this.#begin(frame.begin, isFirst)
        break
      case 'open':
        this.#expectCall(frame.call)
        counts.nextCall = Math.max(counts.nextCall, frame.call + 1)
        calls.open(frame.call, frame.text)
        break
      case 'snapshot':
        calls.snapshot(frame.call, frame.text)
        break
      case 'carried':
        counts.nextCall = Math.max(counts.nextCall, frame.call + 1)
        calls.carried(frame.call, frame.text, frame.snapshot)
        break
      case 'close':
        calls.end(frame.call)
        this.#close(frame)
        break
      case 'discard':
        calls.end(frame.call)
        counts.discards++
        if (this.synced !== null) this.discarded.push(frame.call)
        break
      case 'pruned':
        counts.prunedTo = Math.max(counts.prunedTo, frame.sequence)
        counts.firstSegment = Math.max(counts.firstSegment, frame.firstSegment)
        break
      case 'synced':
        this.#expectCall(frame.proof.nextCall)
        this.#expect(frame.proof.last, frame.proof.discards)
    }
  }

  /** Something that was written cannot be read. */
  damage(): void {
    this.#isBegun = true
    this.isDamaged = true
    this.#isLastUnknown = true
    this.#areCountsUnknown = true
    this.calls.damage()
  }

  /** The log was read to its end. */
  end(): void {
    this.passSync()
    if (this.#areCountsUnknown) this.calls.doubt()
    this.isTailLost ||= this.#isLastUnknown
    this.counts.last = Math.max(this.counts.last, this.counts.prunedTo)
  }

  #begin(begin: SegmentBegin, isFirst: boolean): void {
    const { counts } = this
    counts.prunedTo = Math.max(counts.prunedTo, begin.prunedTo)
    counts.firstSegment = Math.max(counts.firstSegment, begin.firstSegment)
    this.isTailLost ||= begin.isTailLost
    if (isFirst) {
      // Frames before the first segment are not needed.
      counts.last = begin.nextSequence - 1
      counts.nextCall = begin.nextCall
      counts.discards = begin.discards
    }
    // After one that rewrites come all calls that its writer took for open: it did not count the others.
    if (begin.rewrites && this.#areCountsUnknown) this.calls.doubt()
    // One that rewrites is followed by calls whose numbers are below, and some of them have ended.
    if (begin.rewrites) counts.nextCall = Math.max(counts.nextCall, begin.nextCall)
    else this.#expectCall(begin.nextCall)
    this.#expect(begin.nextSequence - 1, begin.discards)
    counts.bytesTotal = Math.max(counts.bytesTotal, begin.bytesTotal)
    if (this.#index.length === 0) this.#index.restart(counts.last, counts.bytesTotal)
    const { last, bytesTotal, discards } = counts
    if (isFirst && this.#syncedEnd === null)
      this.synced = { end: NOTHING_SYNCED.end, last, bytesTotal, discards }
  }

  #close({ sequence, at, end, bodyAt, bytesTotal }: Frame & CloseFrame): void {
    const { counts } = this
    if (sequence <= counts.last) return // It was rewritten, and both are read because the one before is damaged.
    if (sequence > counts.last + 1) this.#lost()
    this.#isLastUnknown = false
    counts.last = sequence
    counts.bytesTotal = Math.max(bytesTotal, counts.bytesTotal)
    // The frames before are not known where the segment's beginning is damaged.
    if (this.#index.length === 0) this.#index.restart(sequence - 1, counts.bytesTotal - (end - bodyAt))
    this.#index.add(sequence, at, counts.bytesTotal)
  }

  /** So many records and discards had been written when the frame was, before it. */
  #expect(last: number, discards: number): void {
    const { counts } = this
    if (last > counts.last || discards > counts.discards) this.#lost()
    counts.last = Math.max(counts.last, last)
    counts.discards = Math.max(counts.discards, discards)
    this.#isLastUnknown = false
    this.#areCountsUnknown = false
  }

  /** Calls up to this number had been opened. */
  #expectCall(call: number): void {
    const { counts, calls } = this
    if (call > counts.nextCall) {
      this.isDamaged = true
      calls.unknown += call - counts.nextCall
    }
    counts.nextCall = Math.max(counts.nextCall, call)
  }

  /** Calls ended in what cannot be read. */
  #lost(): void {
    this.isDamaged = true
    this.calls.doubt()
  }
}
