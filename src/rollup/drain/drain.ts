import { setTimeout as delay } from 'node:timers/promises'
import type { SequenceRange } from '../../domain/sequence-range.ts'
import { parseEntry, parseRecord } from '../../ledger/entry.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { readEntries, STREAM_START, type StreamEntry, trimEntries } from '../../store/ledger/call-stream.ts'
import type { Candidate, RolledUp, RollUp } from '../rolled-up.ts'
import type { GapCheck } from './gap-check.ts'
import { WaitingEntries } from './waiting-entries.ts'

/** Entries in one transaction at most: `MAX_TOTALLED` bounds it, and some 10 KiB an entry the memory. */
const BATCH = 2_000
/** How long a drain waits for the first entry of an idle stream. */
const BLOCK_MS = 1_000
/** A drain ends after this time, so that BullMQ spreads the work again. */
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
  readonly batch?: number
  readonly blockMs?: number
  readonly slotMs?: number
  readonly lingerMs?: number
}

/** What a drain did. */
export interface Drained {
  /**
   * `idle`: all that can be counted is. `slot`: there may be more, its time was over. `busy`: another worker has
   * the shard. `newer`: an entry of a later release is in the stream, which is left alone. `stopped`: by the signal.
   */
  readonly end: 'idle' | 'slot' | 'busy' | 'newer' | 'stopped'
  readonly counted: number
  readonly corrupt: number
  readonly deadLetters: number
  readonly callsSkipped: number
  readonly gaps: RolledUp['gaps']
  /** Entries that waited behind a gap at the end. */
  readonly waiting: number
}

/**
 * Reads a stream from its beginning and counts what can be counted, until it is idle or the slot is over.
 *
 * @throws When Redis or Postgres fails: what was committed stays so, and is dropped as a duplicate the next time.
 */
export type Drain = (stream: string, redis: Redis, signal: AbortSignal) => Promise<Drained>

export function createDrain(options: DrainOptions): Drain {
  const { batch = BATCH, blockMs = BLOCK_MS, slotMs = SLOT_MS, lingerMs = LINGER_MS } = options

  return async (stream, redis, signal) => {
    const endsAtMs = performance.now() + slotMs
    const sums = { counted: 0, corrupt: 0, deadLetters: 0, callsSkipped: 0, gaps: [] as RolledUp['gaps'] }
    const waiting = new WaitingEntries()
    let overdueGaps = NO_OVERDUE_GAPS
    let cursor = STREAM_START
    const ended = (end: Drained['end']): Drained => ({ ...sums, end, waiting: waiting.count })

    for (;;) {
      const entries = await readEntries(redis, stream, cursor, { count: batch, blockMs, signal })
      if (signal.aborted) return ended('stopped')
      const read = readBatch(entries)
      if (read.newer) return ended('newer')
      sums.corrupt += read.corrupt.length
      cursor = entries.at(-1)?.id ?? cursor

      if (entries.length > 0) {
        const rolledUp = await options.rollUp(stream, read.candidates, overdueGaps)
        sums.counted += rolledUp.counted
        sums.deadLetters += rolledUp.deadLetters
        sums.callsSkipped += rolledUp.callsSkipped
        sums.gaps = [...sums.gaps, ...rolledUp.gaps]
        // Only now, after the commit, may they leave Redis; a crash before it leaves duplicates, never a
        // loss.
        const settled = [...read.corrupt, ...rolledUp.settled]
        if (settled.length > 0)
          await trimEntries(redis, stream, settled, options.offsetsKey(stream), rolledUp.committedOffsets)
        if (rolledUp.kind === 'busy') return ended('busy')
        waiting.add(rolledUp)
        if (waiting.canAdvance()) {
          cursor = STREAM_START
          waiting.clear()
          continue
        }
      }

      const atTheEnd = entries.length < batch
      if (atTheEnd) {
        const expired = options.gapCheck.observe(stream, waiting.byProducer)
        if (overdueGaps.size === 0) overdueGaps = expired
        if (waiting.isBehind(overdueGaps)) {
          cursor = STREAM_START
          waiting.clear()
          continue
        }
        overdueGaps = NO_OVERDUE_GAPS
      }
      const slotOver = performance.now() >= endsAtMs
      // What waits was read at some cost, and would be again by the next drain.
      if (entries.length === 0 && (waiting.count === 0 || slotOver)) return ended('idle')
      if (slotOver) return ended('slot')
      if (atTheEnd && entries.length > 0) await pause(lingerMs, signal)
    }
  }
}

const NO_OVERDUE_GAPS: ReadonlyMap<string, readonly SequenceRange[]> = new Map()

interface ReadBatch {
  readonly candidates: readonly Candidate[]
  /** Ids of entries that are not as they were written: their producer finds them gone and sends them again. */
  readonly corrupt: readonly string[]
  readonly newer: boolean
}

function readBatch(entries: readonly StreamEntry[]): ReadBatch {
  const candidates: Candidate[] = []
  const corrupt: string[] = []
  for (const { id, fields } of entries) {
    const entry = parseEntry(fields)
    switch (entry.kind) {
      case 'newer':
        return { candidates: [], corrupt: [], newer: true }
      case 'corrupt':
        corrupt.push(id)
        break
      case 'entry':
        candidates.push(candidateOf(id, entry.producer, entry.sequence, entry.body))
        break
      default:
        entry satisfies never
    }
  }
  return { candidates, corrupt, newer: false }
}

function candidateOf(id: string, producer: string, sequence: number, body: string): Candidate {
  const content = parseRecord(body)
  if (content !== null && 'void' in content) {
    const { from, to, reason } = content.void
    // A gap marker that does not end at its own number is not one of ours: a dead letter.
    if (to === sequence) return { id, producer, sequence, body, record: null, from, to, gapReason: reason }
    return { id, producer, sequence, body, record: null, from: sequence, to: sequence, gapReason: null }
  }
  return { id, producer, sequence, body, record: content, from: sequence, to: sequence, gapReason: null }
}

/** Ends early, without error, when the signal is given. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}
