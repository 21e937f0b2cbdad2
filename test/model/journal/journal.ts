import type { Random } from '../faults/random.ts'
import type { Rule } from '../faults/rules.ts'
import { type Lengths, LogDisk } from './log-disk.ts'
import { readLog } from './log-reader.ts'
import { OldJournal } from './old-journal.ts'
import type { Frame, LogPosition } from './segment.ts'
import { apply, isThere, type JournalRecord, type JournalWrite, noTables, type Tables } from './tables.ts'

/** A sync under way, and what it will vouch for. */
export interface SyncUnderWay {
  readonly committed: number
  readonly last: number
  readonly end: LogPosition
  readonly lengths: Lengths
  /** Segments before it go once it is done. */
  readonly first: number
}

/** A few, so that schedules see many segments. */
const SEGMENT_FRAMES = 9

/** A producer's journal: what its owner knows of it, which is what kill -9 leaves, and its files. */
export class JournalModel {
  readonly producer: string
  /** The process that holds its lock. */
  owner: number | null = null
  /** `finished`: deleted with everything counted. `lost`: its disk is gone, or it is quarantined. */
  state: 'there' | 'finished' | 'lost' = 'there'
  /** What is left of it when it is finished: its last number; 0: nothing. */
  retired = 0
  /** Bytes that were synced were garbled. */
  isGarbled = false
  /** Its adopter took it for garbled. */
  isDamaged = false
  readonly disk = new LogDisk()
  readonly #has: (rule: Rule) => boolean
  #tables: Tables = noTables()
  /** The journal as the release before kept it; `null`: the log is the journal. */
  #old: OldJournal | null
  #writesOld: boolean
  #unsynced: (readonly JournalWrite[])[] = []
  #committed = 0
  /** Segments before it are not needed, as the log says. */
  #first = 0
  #synced: { readonly end: LogPosition; readonly last: number } | null = {
    end: { segment: 0, index: 0 },
    last: 0,
  }

  /** @param isOld its producer is of the release before. */
  constructor(producer: string, has: (rule: Rule) => boolean, isOld = false) {
    this.producer = producer
    this.#has = has
    this.#old = isOld ? new OldJournal() : null
    this.#writesOld = isOld
    if (!isOld) this.#beginSegment([], null)
  }

  get open(): ReadonlyMap<number, number> {
    return this.#tables.open
  }

  get prunedTo(): number {
    return this.#tables.prunedTo
  }

  get last(): number {
    return this.#tables.last
  }

  /** Its adopter has still to make a log of it. */
  get isOld(): boolean {
    return this.#writesOld
  }

  /** Its log alone is the journal. */
  get isLog(): boolean {
    return this.#old === null
  }

  /** A segment of it says where it begins. */
  get isReadable(): boolean {
    return this.#old !== null || readLog(this.disk.segments, this.#has) !== null
  }

  /** Its owner knows how far it is synced, and can go on from there when a sync fails. */
  get canFailSync(): boolean {
    return !this.#writesOld && this.#synced !== null
  }

  get(sequence: number): JournalRecord | undefined {
    return this.#tables.records.get(sequence)
  }

  /** Numbers after `sequence`, in order. */
  read(sequence: number, maxRows: number): number[] {
    const numbers = [...this.#tables.records.keys()].filter((number) => number > sequence)
    return numbers.sort((left, right) => left - right).slice(0, maxRows)
  }

  /** What one turn of the loop writes. */
  commit(...writes: readonly JournalWrite[]): void {
    this.#unsynced.push(writes)
    this.#committed++
    if (this.#writesOld) this.#old?.commit(writes)
    else if (this.disk.end.index >= SEGMENT_FRAMES) this.#beginSegment([], this.disk.end)
    for (const write of writes) {
      if (!this.#writesOld) this.disk.append(write)
      apply(this.#tables, write, this.disk.end.segment)
    }
  }

  beginSync(): SyncUnderWay {
    const { disk } = this
    return {
      committed: this.#committed,
      last: this.last,
      end: disk.end,
      lengths: disk.lengths(),
      first: this.#first,
    }
  }

  /** A sync ended: what was there when it began survives power loss from now on. */
  endSync({ committed, last, end, lengths, first }: SyncUnderWay): void {
    const before = this.#committed - this.#unsynced.length
    this.#unsynced.splice(0, Math.max(committed - before, 0))
    if (this.#writesOld) {
      this.#old?.synced(this.#unsynced.length)
      return
    }
    this.disk.synced(lengths, end, this.#has('oldSegmentSynced'), this.#has('namesSynced'))
    this.disk.deleteBefore(first)
    this.#synced = { end, last }
  }

  /** Says in the log how far it is synced. */
  vouch({ end }: SyncUnderWay): void {
    if (!this.#writesOld) this.disk.append({ kind: 'synced', end, last: this.last })
  }

  /**
   * A sync failed. The log goes on from what is synced, in a segment that repeats the rest.
   *
   * @param isKilled its owner dies as it writes that.
   */
  failSync(isKilled: boolean, random: Random): void {
    if (this.#synced === null) return
    this.disk.distrust()
    if (!this.#has('failedSync')) return
    const { end, last } = this.#synced
    const rest = this.#has('restWrittenAgain') ? [...this.#recordsAfter(last), ...this.#carried()] : []
    this.#beginSegment(isKilled ? rest.slice(0, random(rest.length)) : rest, end, last + 1)
    if (!isKilled) return
    if (this.#has('beginWrittenLast')) this.disk.tearFirst()
    this.disk.trust()
  }

  /** Its owner is killed as it writes. */
  tear(): void {
    if (!this.#writesOld) this.disk.append(null)
  }

  /** Deletes records. Calls that alone hold the oldest segment are written again. */
  prune(to: number): void {
    const [oldest] = this.disk.segments
    if (oldest !== undefined && oldest !== this.disk.current && this.#isPruned(oldest.frames, to)) {
      const held = this.#carried((segment) => segment <= oldest.number)
      if (held.length > 0 && this.#has('carriedForward')) this.commit(...held)
    }
    this.#first = Math.max(this.#first, this.#firstNeeded(to))
    this.commit({ kind: 'pruned', to, first: this.#first })
    if (!this.#has('syncedBeforeDeleted')) this.disk.deleteBefore(this.#first)
  }

  /** Reads what an adopter finds. */
  recover(): void {
    this.#synced = null
    if (this.#old !== null) {
      this.disk.deleteAll()
      this.#writesOld = true
      this.#tables = this.#old.tables
      return
    }
    const content = readLog(this.disk.segments, this.#has)
    this.#tables = content?.tables ?? noTables()
    if (content === null) return
    this.#first = content.first
    this.isDamaged = content.damaged
    if (!this.#has('adopterOwnSegment')) return
    this.disk.cut(content.end)
    this.#beginSegment([], content.end)
  }

  /** Nothing stands behind what an adopter reads any more. */
  cut(): void {
    const content = readLog(this.disk.segments, this.#has)
    if (content !== null) this.disk.cut(content.end)
  }

  /** The adopter of a journal of the release before writes what it holds into a log. */
  beginUpgrade(): void {
    this.#writesOld = false
    const records = this.#recordsAfter(0)
    this.#beginSegment([...records, ...this.#carried()], null, this.last + 1 - records.length)
  }

  /** From now on the log is the journal. */
  endUpgrade(): void {
    const sync = this.beginSync()
    if (this.#has('upgradeSynced')) this.endSync(sync)
    this.vouch(sync)
    if (this.#has('upgradeCommits')) this.#old = null
  }

  /** Power loss: the disk has what was synced and any part of the rest. Returns what is gone. */
  losePower(random: Random): JournalWrite[] {
    const unsynced = this.#unsynced.flat()
    this.#unsynced = []
    this.#old?.losePower(random)
    this.disk.losePower(random)
    this.#tables = this.#old?.tables ?? readLog(this.disk.segments, this.#has)?.tables ?? noTables()
    return unsynced.filter((write) => !isThere(this.#tables, write))
  }

  #beginSegment(frames: readonly Frame[], from: LogPosition | null, next = this.last + 1): void {
    // Where nothing is read before it, the log begins with it.
    if (from === null || from.segment === 0) this.#first = this.disk.nextNumber
    const begin = { kind: 'begin', next, prunedTo: this.prunedTo, from, first: this.#first } as const
    const { number } = this.disk.create([begin, ...frames])
    for (const frame of frames) if (frame.kind === 'carried') this.#tables.open.set(frame.call, number)
  }

  #recordsAfter(sequence: number): JournalWrite[] {
    return this.read(sequence, Number.POSITIVE_INFINITY).flatMap((number) => {
      const record = this.get(number)
      return record === undefined ? [] : { ...record, kind: 'record', sequence: number, closes: true }
    })
  }

  #carried(isHeld: (segment: number) => boolean = () => true): JournalWrite[] {
    return [...this.open].flatMap(([call, segment]) => (isHeld(segment) ? { kind: 'carried', call } : []))
  }

  /** The first segment of which something is needed once all that is there now is synced, and records are deleted. */
  #firstNeeded(prunedTo: number): number {
    const held = new Set(this.#has('carriedForward') ? this.open.values() : [])
    const needed = this.disk.segments.find(
      (segment) =>
        segment === this.disk.current ||
        held.has(segment.number) ||
        !this.#isPruned(segment.frames, prunedTo),
    )
    return needed?.number ?? 0
  }

  #isPruned(frames: readonly (Frame | null)[], to: number): boolean {
    const sequences = frames.flatMap((frame) => (frame?.kind === 'record' ? frame.sequence : []))
    return this.#has('wholeSegmentPruned')
      ? sequences.every((sequence) => sequence <= to)
      : sequences.length === 0 || Math.min(...sequences) <= to
  }
}
