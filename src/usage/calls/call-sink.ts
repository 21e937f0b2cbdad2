import type { CountedCall } from '../../call/call-record.ts'
import { type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import type { SettledCall } from '../daily-key.ts'
import { addCalls, setCallsSettled } from './add-calls.ts'

/**
 * Where single calls go beside the totals. It takes them in the transaction that counts them, so that a call is
 * there if and only if it is in the totals.
 */
export interface CallSink {
  /**
   * @param calls As they are totalled, in the order of the stream.
   * @param settled Calls that are unpriced no longer, of this transaction or of an earlier one.
   * @returns How many of `calls` it keeps no place for.
   */
  add(
    session: PostgresSession,
    calls: readonly CountedCall[],
    settled: readonly SettledCall[],
  ): Promise<number>
}

/**
 * `calls` in Postgres, where every deployment keeps them by default.
 *
 * @param days Those that have a partition: calls of another day are not kept.
 */
export function keptCalls(days: ReadonlySet<UtcDay>): CallSink {
  return {
    async add(session, calls, settled) {
      const kept = calls.filter(({ arrivedAtMs }) => days.has(utcDayOf(arrivedAtMs)))
      if (kept.length > 0) await addCalls(session, kept)
      if (settled.length > 0) await setCallsSettled(session, settled)
      return calls.length - kept.length
    },
  }
}

/** `first`, and `others` too. What `first` keeps no place for is what counts as not kept. */
export function callsInto(first: CallSink, others: readonly CallSink[]): CallSink {
  if (others.length === 0) return first
  return {
    async add(session, calls, settled) {
      const skipped = await first.add(session, calls, settled)
      for (const other of others) await other.add(session, calls, settled)
      return skipped
    },
  }
}
