import type { SnapshotSource } from '../../../../call/call-ports.ts'
import type { OpenCall } from '../../../../call/call-record.ts'
import type { LogSegment } from '../log-segment.ts'

/** A call under way, as the journal knows it. */
export class JournalCall {
  readonly callId: string
  /** The call as `serialiseOpenCall` wrote it. */
  readonly text: string
  /** The call that `text` was made of; `null`: by another process. */
  readonly opened: OpenCall | null
  /** Its number within the journal, never used again; 0: it is not written. */
  number = 0
  /** The segment that has its text. */
  home: LogSegment | null = null
  /** The usage snapshot that was written last. */
  snapshot: string | null = null
  /** Its record, if any, is handed in. */
  isOver = false
  /** Tells the usage snapshot that is to be written. */
  pendingSnapshot: SnapshotSource | null = null

  constructor(callId: string, text: string, opened: OpenCall | null) {
    this.callId = callId
    this.text = text
    this.opened = opened
  }
}

/** The calls under way, and whose usage snapshots must still be written. */
export class OpenCalls {
  readonly #calls = new Map<string, JournalCall>()
  readonly #written = new Set<JournalCall>()
  readonly #pending = new Set<JournalCall>()
  #writtenUnits = 0

  get size(): number {
    return this.#calls.size
  }

  /** The calls that the log has as open: also those whose end waits to be written. */
  get written(): ReadonlySet<JournalCall> {
    return this.#written
  }

  /** The length of what the log must keep of open calls, in UTF-16 units. */
  get writtenUnits(): number {
    return this.#writtenUnits
  }

  /** The log has the call as open, with its text in `home`. */
  opened(call: JournalCall, home: LogSegment): void {
    call.home = home
    home.openCalls++
    this.#written.add(call)
    this.#writtenUnits += call.text.length + (call.snapshot?.length ?? 0)
  }

  /** The log has this snapshot of the call. */
  wroteSnapshot(call: JournalCall, snapshot: string): void {
    if (this.#written.has(call)) this.#writtenUnits += snapshot.length - (call.snapshot?.length ?? 0)
    call.snapshot = snapshot
  }

  /** The log has the call as open no longer. */
  ended(call: JournalCall): void {
    if (!this.#written.delete(call)) return
    this.#writtenUnits -= call.text.length + (call.snapshot?.length ?? 0)
    if (call.home !== null) call.home.openCalls--
    call.home = null
  }

  /** The log has the call's text in another segment now. */
  moved(call: JournalCall, home: LogSegment): void {
    if (call.home !== null) call.home.openCalls--
    call.home = home
    home.openCalls++
  }

  add(callId: string, text: string, opened: OpenCall): JournalCall {
    const call = new JournalCall(callId, text, opened)
    this.#calls.set(callId, call)
    return call
  }

  /** `null`: the call is not open. */
  find(callId: string): JournalCall | null {
    return this.#calls.get(callId) ?? null
  }

  /** The call is open no longer; `null`: it was not. */
  release(callId: string): JournalCall | null {
    const call = this.find(callId)
    if (call !== null) this.drop(call)
    return call
  }

  /** As `release`. Another call of the same id stays. */
  drop(call: JournalCall): void {
    call.isOver = true
    if (this.#calls.get(call.callId) === call) this.#calls.delete(call.callId)
    if (call.pendingSnapshot !== null) this.discardSnapshot(call)
  }

  saveSnapshot(call: JournalCall, snapshot: SnapshotSource): void {
    call.pendingSnapshot = snapshot
    this.#pending.add(call)
  }

  /** How many calls have usage snapshots that must still be written. */
  get pendingSnapshots(): number {
    return this.#pending.size
  }

  /** The first `most` of these calls. */
  firstPending(most: number): readonly JournalCall[] {
    return [...this.#pending.values().take(most)]
  }

  /** The call's snapshot is written, or a later one is. */
  discardSnapshot(call: JournalCall): void {
    call.pendingSnapshot = null
    this.#pending.delete(call)
  }
}
