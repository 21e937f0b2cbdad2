import type { SequenceRange } from '../domain/sequence-range.ts'
import { type UtcDay, utcDayOf } from '../domain/utc-day.ts'
import { lockForRollUp } from '../store/connection/advisory-locks.ts'
import { inTransaction, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import {
  addProducers,
  type GapRow,
  lockOffsets,
  moveOffsets,
  type OffsetMove,
  replaceGaps,
  selectGaps,
} from '../store/ledger/committed-offsets.ts'
import { addDeadLetters, type DeadLetter } from '../store/ledger/dead-letters.ts'
import { type CallSink, callsInto, isPartitionMissing, keptCalls } from '../usage/calls/add-calls.ts'
import type { CallDays } from './call-days.ts'
import { type Decision, decide } from './contiguous.ts'
import { type CountingMemory, countRecords, createCountingMemory, DayBusy } from './count-records.ts'
import {
  BUSY,
  type Candidate,
  isLostRace,
  mergeRolledUp,
  NOT_A_RECORD,
  type Refusal,
  type RolledUp,
  type RollUp,
  recordRefusalOf,
} from './rolled-up.ts'

export interface RollUpOptions {
  readonly pool: Postgres
  readonly callDays: CallDays
  readonly memory?: CountingMemory
  /** The sinks that single calls go to beside `calls`; absent: nowhere. */
  readonly otherSinks?: readonly CallSink[]
}

/** How often a transaction that lost against another is tried again at once. */
const RETRIES = 5

export function createRollUp(options: RollUpOptions): RollUp {
  const { pool, callDays, memory = createCountingMemory(), otherSinks = [] } = options

  /**
   * docs/ledger.md, section 5. The order of the steps is the proof: each says what it gives.
   *
   * @param refusal Why Postgres refuses the batch, which is then one entry: a dead letter.
   */
  async function transact(
    stream: string,
    batch: readonly Candidate[],
    overdueGaps: ReadonlyMap<string, readonly SequenceRange[]>,
    refusal: Refusal | null,
  ): Promise<RolledUp> {
    const byProducer = Map.groupBy(batch, ({ producer }) => producer)
    const producers = [...byProducer.keys()].sort()
    const sink = callsInto(keptCalls(await callDays.all()), otherSinks)
    const batchDays = new Set<UtcDay>()
    // Nothing of a batch that is refused is counted, and its day may be what is refused.
    if (refusal === null)
      for (const { record } of batch) if (record !== null) batchDays.add(utcDayOf(record.arrivedAtMs))
    let remember = () => {}
    const rolledUp = await inTransaction(pool, async (session): Promise<RolledUp> => {
      // 1. Alone in its statement: one writer a shard, and no correction of these days runs meanwhile, which would
      // miss what is added here.
      if (!(await lockForRollUp(session, stream, [...batchDays]))) return BUSY
      // 2. and 3. The snapshot begins after the lock of 1: it sees the last committed offsets.
      const committedOffsets = await lockOffsetsOfAll(session, stream, producers)
      // 4. Contiguous records only: what is at or under the committed offset was counted, what is behind a gap waits.
      const decisions = await decideAll(session, byProducer, committedOffsets, overdueGaps)
      const counted = decisions.flatMap(({ decision }) => decision.counted)
      const letters = counted.filter(({ record }) => record === null || refusal !== null)
      const calls = refusal === null ? counted.flatMap(({ record }) => record ?? []) : []

      // 5. and 6. The totals, and the single calls where they are kept.
      const recorded = await countRecords(session, calls, sink, batchDays, memory)
      remember = recorded.remember
      if (letters.length > 0) {
        await addDeadLetters(
          session,
          stream,
          letters.map((letter) => deadLetterOf(letter, refusal ?? NOT_A_RECORD)),
        )
      }
      const gaps = await writeGaps(session, decisions)
      // 7. Exactly one row each, or all of it is rolled back.
      const moves = decisions.flatMap(({ producer, decision: { committedOffset } }): OffsetMove[] => {
        const from = committedOffsets.get(producer) ?? 0
        return committedOffset === from ? [] : [{ producer, from, to: committedOffset }]
      })
      if (moves.length > 0) await moveOffsets(session, moves)

      const waiting = decisions.flatMap(({ decision }) => decision.waiting)
      const waits = new Set(waiting)
      return {
        kind: 'done',
        settled: batch.flatMap((entry) => (waits.has(entry) ? [] : [entry.id])),
        waiting,
        committedOffsets: new Map(
          decisions.map(({ producer, decision }) => [producer, decision.committedOffset]),
        ),
        counted: counted.length - letters.length,
        deadLetters: letters.length,
        callsSkipped: recorded.callsSkipped,
        gaps,
      }
    })
    remember()
    return rolledUp
  }

  async function transactAgain(
    stream: string,
    batch: readonly Candidate[],
    overdueGaps: ReadonlyMap<string, readonly SequenceRange[]>,
    refusal: Refusal | null,
  ): Promise<RolledUp> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await transact(stream, batch, overdueGaps, refusal)
      } catch (error) {
        if (error instanceof DayBusy) return BUSY
        if (attempt > RETRIES) throw error
        if (isPartitionMissing(error)) {
          callDays.invalidate()
          memory.usageMonths.clear()
        } else if (!isLostRace(error)) throw error
      }
    }
  }

  /** Halves a batch that Postgres refuses until one entry stands alone, so that its neighbours are counted. */
  const rollUp: RollUp = async (stream, batch, overdueGaps = NO_OVERDUE_GAPS) => {
    try {
      return await transactAgain(stream, batch, overdueGaps, null)
    } catch (error) {
      const refusal = recordRefusalOf(error)
      if (refusal === null) throw error
      if (batch.length === 1) return await transactAgain(stream, batch, overdueGaps, refusal)
      const sorted = [...batch].sort(byProducerAndSequence)
      const half = sorted.length >>> 1
      const first = await rollUp(stream, sorted.slice(0, half), overdueGaps)
      if (first.kind === 'busy') return first
      return mergeRolledUp(first, await rollUp(stream, sorted.slice(half), overdueGaps))
    }
  }
  return rollUp
}

function deadLetterOf({ producer, sequence, body }: Candidate, refusal: Refusal): DeadLetter {
  return { producer, sequence, body, ...refusal }
}

const NO_OVERDUE_GAPS: ReadonlyMap<string, readonly SequenceRange[]> = new Map()

interface ProducerDecision {
  readonly producer: string
  readonly decision: Decision<Candidate>
}

/** A producer that has no row yet gets one first: there must be a row to lock. */
async function lockOffsetsOfAll(
  session: PostgresSession,
  stream: string,
  producers: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const known = await lockOffsets(session, producers)
  if (known.size === producers.length) return known
  await addProducers(session, stream, producers)
  return await lockOffsets(session, producers)
}

async function decideAll(
  session: PostgresSession,
  byProducer: ReadonlyMap<string, readonly Candidate[]>,
  committedOffsets: ReadonlyMap<string, number>,
  overdueGaps: ReadonlyMap<string, readonly SequenceRange[]>,
): Promise<ProducerDecision[]> {
  const late = [...byProducer].flatMap(([producer, entries]) => {
    const committedOffset = committedOffsets.get(producer) ?? 0
    return entries.some(({ to, gapReason }) => to <= committedOffset && gapReason === null) ? [producer] : []
  })
  const gaps = late.length > 0 ? await selectGaps(session, late) : new Map<string, never>()
  return [...byProducer].map(([producer, entries]) => {
    const state = { committedOffset: committedOffsets.get(producer) ?? 0, gaps: gaps.get(producer) ?? [] }
    return { producer, decision: decide(state, entries, overdueGaps.get(producer)) }
  })
}

async function writeGaps(
  session: PostgresSession,
  decisions: readonly ProducerDecision[],
): Promise<readonly GapRow[]> {
  const replaced = decisions.flatMap(({ decision }) => decision.replacedGaps)
  const rows = decisions.flatMap(({ producer, decision }) =>
    decision.newGaps.map((gap) => ({ ...gap, producer })),
  )
  if (replaced.length > 0 || rows.length > 0) await replaceGaps(session, replaced, rows)
  return rows.filter(({ recordedAt, filled }) => recordedAt === null && !filled)
}

function byProducerAndSequence(left: Candidate, right: Candidate): number {
  if (left.producer !== right.producer) return left.producer < right.producer ? -1 : 1
  return left.from - right.from
}
