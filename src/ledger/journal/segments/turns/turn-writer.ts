import type { DiskFailure } from '../upkeep/disk-failure.ts'
import type { LogSync } from '../upkeep/log-sync.ts'
import type { LogOperation, LogTurn } from './log-turn.ts'
import type { JournalCall, OpenCalls } from './open-calls.ts'

export interface TurnWriterOptions {
  readonly turn: LogTurn
  readonly calls: OpenCalls
  readonly sync: Pick<LogSync, 'touch'>
  readonly failure: DiskFailure
}

const NO_CALLS: readonly JournalCall[] = []
/** So many snapshots are made in one turn, and the rest in the next ones: they must not hold up what streams. */
const MAX_SNAPSHOTS = 64

/** Commits what happened in one turn of the event loop as one write, then runs the callbacks that waited. */
export class TurnWriter {
  readonly #turn: LogTurn
  readonly #calls: OpenCalls
  readonly #sync: Pick<LogSync, 'touch'>
  readonly #failure: DiskFailure
  #queue: LogOperation[] = []
  #snapshotsDue = false
  #isScheduled = false
  #stopped = false

  constructor({ turn, calls, sync, failure }: TurnWriterOptions) {
    this.#turn = turn
    this.#calls = calls
    this.#sync = sync
    this.#failure = failure
  }

  /** Nothing that was handed in waits for a commit. */
  get isEmpty(): boolean {
    return this.#queue.length === 0
  }

  enqueue(operation: LogOperation): void {
    this.#queue.push(operation)
    this.schedule()
  }

  /** The next commits also write the usage snapshots that wait. */
  includeSnapshots(): void {
    this.#snapshotsDue = true
  }

  /** Commits at the end of this turn of the event loop. */
  schedule(): void {
    if (this.#isScheduled || this.#stopped) return
    this.#isScheduled = true
    setImmediate(this.#onTurnEnd)
  }

  /** Commits all that waits, as one write; of usage snapshots a part. */
  commit(maxSnapshots = MAX_SNAPSHOTS): void {
    if (this.#stopped) return
    const operations = this.#queue
    const snapshots = this.#snapshotsDue ? this.#calls.firstPending(maxSnapshots) : NO_CALLS
    if (operations.length === 0 && snapshots.length === 0 && !this.#failure.isFailing) return
    this.#queue = []
    try {
      this.#turn.write(operations, snapshots)
    } catch (error) {
      this.#refused(operations, error instanceof Error ? error : new Error(String(error)))
      return
    }
    for (const call of snapshots) this.#calls.discardSnapshot(call)
    this.#snapshotsDue &&= this.#calls.pendingSnapshots > 0
    if (this.#snapshotsDue) this.schedule()
    this.#sync.touch()
    this.#failure.committed()
    for (const operation of operations) operation.onWritten?.(null, operation.sequence)
  }

  /** Commits all that waits, and all usage snapshots with it. */
  commitAll(): void {
    this.includeSnapshots()
    this.commit(Number.POSITIVE_INFINITY)
  }

  /** Commits nothing from now on. */
  stop(): void {
    this.#stopped = true
  }

  /** After `stop`: what still waits gets an error. */
  rejectRest(): void {
    const refused = this.#queue
    this.#queue = []
    for (const operation of refused) operation.onWritten?.(new Error('the journal is closed'), 0)
  }

  readonly #onTurnEnd = (): void => {
    this.#isScheduled = false
    this.commit()
  }

  /**
   * Nothing of `operations` was committed. New calls are refused. What ends running calls is tried again with the
   * reserve released, in another file. If that does not help, its callers get the error, and it is tried again as long
   * as the process runs.
   */
  #refused(operations: readonly LogOperation[], error: Error): void {
    const failure = this.#failure
    failure.failed(error)
    const opens = operations.filter(({ kind }) => kind === 'open')
    const others = operations.filter(({ kind }) => kind !== 'open')
    this.#queue = [...others, ...this.#queue]
    for (const { call } of opens) if (call !== null) this.#calls.drop(call)
    for (const { onWritten } of opens) onWritten?.(error, 0)
    if (failure.makeRoom()) {
      this.schedule()
      return
    }
    for (const operation of others) {
      const { onWritten } = operation
      operation.onWritten = null
      onWritten?.(error, 0)
    }
    failure.retryLater()
  }
}
