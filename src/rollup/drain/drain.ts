import { setTimeout as delay } from 'node:timers/promises'
import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { trimEntries } from '../../store/ledger/call-stream.ts'
import type { RolledUp, RollUp } from '../rolled-up.ts'
import { BatchReader, BatchSize, type ReadBatch } from './batch-reader.ts'
import type { GapCheck } from './gap-check.ts'
import { WaitingEntries } from './gap-check.ts'

/** How long a drain waits for the first entry of an idle stream. */
const BLOCK_MS = 1_000
/**
 * A drain ends after this time, so that what it did is reported, and the shard given to the worker that is dealt it.
 */
const SLOT_MS = 5_000
/**
 * Pause after a batch that was not full, so that a stream of single calls makes ten transactions a second and not
 * one a call. It is the floor of the lag under load.
 */
const LINGER_MS = 100

export interface DrainOptions {
  readonly rollUp: RollUp
  readonly gapCheck: GapCheck
  /** The hash of committed offsets of a stream: a hint for the gateways. */
  readonly offsetsKey: (stream: string) => string
  /** The identity of the database that is counted in; `null`, and by default: entries of all databases are counted. */
  readonly databaseId?: () => string | null
  /** Called after each commit: what is to be known of it must not depend on how the drain ends. */
  readonly onCommitted?: (stream: string, rolledUp: RolledUp) => void
  /** Entries in one transaction at most. */
  readonly batch?: number
  readonly blockMs?: number
  readonly slotMs?: number
  readonly lingerMs?: number
}

/** The outcome of a drain. */
export interface Drained {
  /**
   * `idle`: all that can be counted is. `slot`: there may be more, its time was over. `busy`: another worker has the
   * shard, or a correction runs. `newer`: an entry of a later release is in the stream, which is left alone. `stopped`:
   * by the signal.
   */
  readonly end: 'idle' | 'slot' | 'busy' | 'newer' | 'stopped'
  readonly counted: number
  readonly corrupt: number
  /** Entries that another database is to count, as often as they were passed. */
  readonly foreign: number
  readonly deadLetters: number
  readonly callsSkipped: number
  readonly gaps: RolledUp['gaps']
  /** Entries that waited behind a gap at the end. */
  readonly waiting: number
}

/**
 * Reads a stream from its beginning and counts what can be counted, until it is idle or the slot is over.
 *
 * At most two batches are in memory: one in its transaction, and the next, read meanwhile.
 *
 * @param mayRead Asked before each batch: whether this worker still holds the shard. Absent: it does.
 * @throws When Redis or Postgres fails: what was committed stays so, and is dropped as a duplicate the next time.
 */
export type Drain = (
  stream: string,
  redis: Redis,
  signal: AbortSignal,
  mayRead?: () => boolean,
) => Promise<Drained>

export function createDrain(options: DrainOptions): Drain {
  const { databaseId = () => null } = options
  const { blockMs = BLOCK_MS, slotMs = SLOT_MS, lingerMs = LINGER_MS } = options

  return async (stream, redis, signal, mayRead = ALWAYS) => {
    const endsAtMs = performance.now() + slotMs
    const sums = {
      counted: 0,
      corrupt: 0,
      foreign: 0,
      deadLetters: 0,
      callsSkipped: 0,
      gaps: [] as RolledUp['gaps'],
    }
    const reader = new BatchReader(redis, stream, databaseId(), signal)
    const size = new BatchSize(options.batch)
    const waiting = new WaitingEntries()
    let overdueGaps = NO_OVERDUE_GAPS
    let ahead: Promise<ReadBatch> | null = null
    let trimmed: Promise<void> = Promise.resolve()
    // Nothing comes of a connection that was closed to stop at once: what is not deleted is dropped as a duplicate.
    const untilTrimmed = () => trimmed.catch((error) => signal.aborted || Promise.reject(error))
    const ended = (end: Drained['end']): Drained => ({ ...sums, end, waiting: waiting.count })
    const restart = () => {
      reader.restart()
      waiting.clear()
      ahead = null
    }

    try {
      for (;;) {
        if (ahead === null) {
          // A deleted entry must not be read again, and its answer not stand behind a read that blocks.
          await untilTrimmed()
          if (!mayRead()) return ended('busy')
        }
        const wasAhead = ahead !== null
        const read: ReadBatch = await (ahead ?? reader.read(size.entries, blockMs))
        ahead = null
        if (signal.aborted) return ended('stopped')
        if (read.newer && read.candidates.length === 0) return ended('newer')

        if (read.entries > 0) {
          // The next batch is read and parsed while this one's transaction runs. Its beginning may be decided otherwise
          // by then: the transaction that counts it reads the committed offsets under its own lock.
          if (!read.atTheEnd && performance.now() < endsAtMs && mayRead()) {
            ahead = reader.read(size.entries, 0)
            ahead.catch(() => {})
          }
          const beganMs = performance.now()
          const rolledUp = await options.rollUp(stream, read.candidates, overdueGaps)
          options.onCommitted?.(stream, rolledUp)
          size.took(read.entries, performance.now() - beganMs, !read.atTheEnd)
          sums.corrupt += read.corrupt.length
          sums.foreign += read.foreign
          sums.counted += rolledUp.counted
          sums.deadLetters += rolledUp.deadLetters
          sums.callsSkipped += rolledUp.callsSkipped
          if (rolledUp.gaps.length > 0) sums.gaps = [...sums.gaps, ...rolledUp.gaps]
          // Only now, after the commit, may they leave Redis; a crash before it leaves duplicates, never a loss.
          const settled = [...read.corrupt, ...rolledUp.settled]
          await untilTrimmed()
          if (settled.length > 0) {
            trimmed = trimEntries(
              redis,
              stream,
              settled,
              options.offsetsKey(stream),
              rolledUp.committedOffsets,
            )
            trimmed.catch(() => {})
          }
          if (rolledUp.kind === 'busy') return ended('busy')
          waiting.add(rolledUp)
          if (waiting.canAdvance()) {
            restart()
            continue
          }
          if (read.newer) return ended('newer')
        }

        if (read.atTheEnd) {
          const expired = options.gapCheck.observe(stream, waiting.byProducer)
          if (overdueGaps.size === 0) overdueGaps = expired
          if (waiting.isBehind(overdueGaps)) {
            restart()
            continue
          }
          overdueGaps = NO_OVERDUE_GAPS
        }
        if (ahead !== null) continue
        const slotOver = performance.now() >= endsAtMs
        // An entry that waits was read at some cost, and would be again by the next drain.
        if (read.entries === 0 && !wasAhead && (waiting.count === 0 || slotOver)) return ended('idle')
        if (slotOver) return ended('slot')
        if (read.atTheEnd && read.entries > 0) await pause(lingerMs, signal)
      }
    } finally {
      await untilTrimmed()
    }
  }
}

const ALWAYS = () => true
const NO_OVERDUE_GAPS: ReadonlyMap<string, readonly SequenceRange[]> = new Map()

/** Ends early, without error, when the signal is given. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}
