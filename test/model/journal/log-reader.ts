import type { Rule } from '../faults/rules.ts'
import { type Frame, isBefore, type LogPosition, type Segment, syncedEnd } from './segment.ts'
import { type JournalRecord, noTables, type Tables } from './tables.ts'

/** What was read of a log. */
export interface LogContent {
  readonly tables: Tables
  /** It goes on behind this. */
  readonly end: LogPosition
  /** Something that was synced cannot be read. */
  readonly damaged: boolean
  /** Segments before it are not needed any more, by what was read. */
  readonly first: number
}

/**
 * Reads a log as an adopter does: from the last segment of which what stands there says that none before it is
 * needed. Those were deleted, and are back after a power loss. `null`: no segment says where it begins.
 */
export function readLog(segments: readonly Segment[], has: (rule: Rule) => boolean): LogContent | null {
  if (!segments.some(({ frames }) => frames[0]?.kind === 'begin')) return null
  const limits = limitsOf(segments, has)
  const synced = syncedEnd(segments)
  for (const first of has('deletedPassedOver') ? firstsOf(segments) : [segments[0]?.number ?? 0]) {
    const reader = new LogReader(has, synced, first)
    for (const segment of segments)
      if (segment.number >= first && !reader.read(segment, limits.get(segment.number))) break
    const content = reader.finish()
    if (content.first >= first || !has('deletedPassedOver')) return content
  }
  return { tables: noTables(), end: { segment: 0, index: 0 }, damaged: false, first: 0 }
}

/** Segments that the log may begin with, the last first. */
function firstsOf(segments: readonly Segment[]): number[] {
  const firsts = new Set<number>()
  for (const { frames } of segments)
    for (const frame of frames)
      if (frame?.kind === 'begin' || frame?.kind === 'pruned') firsts.add(frame.first)
  return [...firsts].sort((left, right) => right - left)
}

/** The frames that an adopter who keeps all rules reads, in order. */
export function framesOf(segments: readonly Segment[]): (Frame | null)[] {
  const content = readLog(segments, () => true)
  if (content === null) return []
  const limits = limitsOf(segments, () => true)
  return segments.flatMap(({ number, frames }) => {
    const isRead = (_: unknown, index: number) => isBefore({ segment: number, index }, content.end)
    return number < content.first ? [] : frames.slice(0, limits.get(number)).filter(isRead)
  })
}

/** Up to where segments are read from which the log was continued before their end. */
function limitsOf(segments: readonly Segment[], has: (rule: Rule) => boolean): ReadonlyMap<number, number> {
  const limits = new Map<number, number>()
  if (!has('tailNotRead')) return limits
  for (const { number, frames } of segments) {
    const [begin] = frames
    if (begin?.kind !== 'begin' || begin.from === null) continue
    for (const other of segments) {
      if (other.number < begin.from.segment || other.number >= number) continue
      const limit = other.number === begin.from.segment ? begin.from.index : 0
      limits.set(other.number, Math.min(limits.get(other.number) ?? limit, limit))
    }
  }
  return limits
}

class LogReader {
  readonly #has: (rule: Rule) => boolean
  readonly #synced: LogPosition
  readonly #open = new Map<number, number>()
  readonly #records = new Map<number, JournalRecord>()
  #prunedTo = 0
  #last = 0
  #end: LogPosition
  #hasBegun = false
  /** Calls that were open before a damaged region, whose records are not known yet. */
  #suspects: Set<number> | null = null
  /** Calls that a record which is missing may have closed, and its number. */
  readonly #doubts = new Map<number, number>()
  #missing = 0
  #damaged = false
  #first = 0

  /** @param first the segment that the log begins with. */
  constructor(has: (rule: Rule) => boolean, synced: LogPosition, first: number) {
    this.#end = { segment: first, index: 0 }
    this.#has = has
    this.#synced = synced
  }

  /** False: the log ends in it. */
  read({ number, frames }: Segment, limit: number | undefined): boolean {
    if (limit === 0) return true
    if (this.#isCutOffFrom(number, frames[0])) return false
    for (let index = 0; index < Math.min(limit ?? frames.length, frames.length); index++) {
      const frame = frames[index] ?? null
      if (frame !== null) this.#take(frame, number)
      else if (this.#pass({ segment: number, index })) this.#damaged = true
      else return false
      this.#end = { segment: number, index: index + 1 }
      this.#hasBegun = true
    }
    return true
  }

  finish(): LogContent {
    const prunedTo = this.#prunedTo
    for (const [call, missing] of this.#doubts)
      if (this.#has('doubtStays') || missing > prunedTo) this.#open.delete(call)
    for (const sequence of this.#records.keys()) if (sequence <= prunedTo) this.#records.delete(sequence)
    const last = this.#has('numbersContinue')
      ? Math.max(this.#last, prunedTo)
      : Math.max(0, ...this.#records.keys())
    return {
      tables: { open: this.#open, records: this.#records, prunedTo, last },
      end: this.#end,
      damaged: this.#damaged || this.#missing > prunedTo,
      first: this.#first,
    }
  }

  /** Between the end and this segment something is missing that was never synced. */
  #isCutOffFrom(number: number, begin: Frame | null | undefined): boolean {
    return !this.#isNext(number, begin) && !this.#pass(this.#end)
  }

  #isNext(number: number, begin: Frame | null | undefined): boolean {
    if (!this.#hasBegun) return number === this.#end.segment
    const from = begin?.kind === 'begin' && this.#has('endNamed') ? begin.from : null
    return from === null ? number === this.#end.segment + 1 : !isBefore(this.#end, from)
  }

  /** What stands there cannot be read. False: the log ends before it. */
  #pass(at: LogPosition): boolean {
    const isSynced = isBefore(at, this.#synced)
    if (!isSynced && this.#has('cutAtBadFrame')) return false
    if (isSynced && !this.#has('damagePassed')) return false
    this.#hasBegun = true
    this.#suspects ??= new Set()
    for (const call of this.#open.keys()) this.#suspects.add(call)
    return true
  }

  #take(frame: Frame, segment: number): void {
    switch (frame.kind) {
      case 'begin':
        this.#first = Math.max(this.#first, frame.first)
        this.#prunedTo = Math.max(this.#prunedTo, frame.prunedTo)
        if (this.#has('beginNumbers')) this.#count(frame.next - 1)
        break
      case 'open':
      case 'carried':
        this.#open.set(frame.call, segment)
        this.#suspects?.delete(frame.call)
        this.#doubts.delete(frame.call)
        break
      case 'record':
        if (frame.sequence > this.#last) {
          this.#count(frame.sequence - 1)
          this.#last = frame.sequence
        }
        this.#records.set(frame.sequence, frame)
        if (frame.closes) this.#close(frame.call)
        break
      case 'discard':
        this.#close(frame.call)
        break
      case 'pruned':
        this.#first = Math.max(this.#first, frame.first)
        this.#prunedTo = Math.max(this.#prunedTo, frame.to)
        break
      case 'synced':
        if (this.#has('proofsNumber')) this.#count(frame.last)
        break
      default:
        frame satisfies never
    }
  }

  #close(call: number): void {
    this.#open.delete(call)
    this.#suspects?.delete(call)
  }

  /** All numbers up to `last` were given. Those that were not read were given in what is missing. */
  #count(last: number): void {
    if (last < this.#last) return
    if (last > this.#last && this.#hasBegun) {
      this.#missing = last
      if (this.#has('doubtNotCounted')) for (const call of this.#suspects ?? []) this.#doubts.set(call, last)
    }
    this.#suspects = null
    this.#last = last
  }
}
