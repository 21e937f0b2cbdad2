import type { CallRecord } from '../call/call-record.ts'
import type { SequenceRange } from '../domain/sequence-range.ts'
import { sqlErrorOf } from '../store/connection/postgres.ts'
import type { GapRow } from '../store/ledger/committed-offsets.ts'
import { isPartitionMissing } from '../usage/calls/add-calls.ts'
import type { Numbered } from './contiguous.ts'

/** An entry of the stream, read and believed. */
export interface Candidate extends Numbered {
  /** The stream's id of the entry. */
  readonly id: string
  readonly producer: string
  readonly sequence: number
  readonly body: string
  /** `null`: a gap marker, or a body that is not a record and goes to the dead letters. */
  readonly record: CallRecord | null
}

/** The outcome of a batch. Entries that are neither `settled` nor `waiting` were not looked at. */
export interface RolledUp {
  /** `busy`: another worker is at this shard. */
  readonly kind: 'done' | 'busy'
  /** Ids of the entries that are in the totals, or need not be: they may leave the stream. */
  readonly settled: readonly string[]
  /** Entries behind a gap. */
  readonly waiting: readonly Candidate[]
  /** The committed offsets of the batch's producers. */
  readonly committedOffsets: ReadonlyMap<string, number>
  readonly counted: number
  readonly deadLetters: number
  /** Counted calls whose day has no partition. */
  readonly callsSkipped: number
  /** Gaps passed over, in this batch. */
  readonly gaps: readonly GapRow[]
}

/**
 * Counts a batch of one stream, whatever it holds.
 *
 * @param overdueGaps By producer, gaps that are to be passed over.
 * @throws When Postgres is away or inconsistent: nothing moved but what the committed offsets say.
 */
export type RollUp = (
  stream: string,
  batch: readonly Candidate[],
  overdueGaps?: ReadonlyMap<string, readonly SequenceRange[]>,
) => Promise<RolledUp>

/** Nothing was done: another worker is at the shard, or a correction runs. */
export const BUSY: RolledUp = {
  kind: 'busy',
  settled: [],
  waiting: [],
  committedOffsets: new Map(),
  counted: 0,
  deadLetters: 0,
  callsSkipped: 0,
  gaps: [],
}

/** The outcome of two batches of one stream together. */
export function mergeRolledUp(first: RolledUp, second: RolledUp): RolledUp {
  return {
    kind: second.kind,
    settled: [...first.settled, ...second.settled],
    waiting: [...first.waiting, ...second.waiting],
    committedOffsets: new Map([...first.committedOffsets, ...second.committedOffsets]),
    counted: first.counted + second.counted,
    deadLetters: first.deadLetters + second.deadLetters,
    callsSkipped: first.callsSkipped + second.callsSkipped,
    gaps: [...first.gaps, ...second.gaps],
  }
}

/** Why an entry cannot be counted. */
export interface Refusal {
  readonly sqlState: string | null
  readonly message: string
}

/** The checksum holds, but no gateway of ours wrote this. */
export const NOT_A_RECORD: Refusal = { sqlState: null, message: 'the body is not a record' }

/** Serialization failure or deadlock: nothing is wrong with the batch. */
export function isLostRace(error: unknown): boolean {
  const code = sqlErrorOf(error)?.code
  return code === '40001' || code === '40P01'
}

/**
 * By class, what passes: connections, a server that is read-only, loses races, lacks room, has locks held, or is
 * starting.
 */
const PASSING: readonly string[] = ['08', '25', '40', '53', '55', '57', '58']

/**
 * Tells whether the same statement may succeed later with nothing changed by hand, as also where no server answered.
 */
export function isPassing(error: unknown): boolean {
  const code = sqlErrorOf(error)?.code
  return code === undefined || PASSING.includes(code.slice(0, 2))
}

/**
 * Why Postgres refuses what is in the batch; `null` for every other error. Class 22: data exception, 23: integrity
 * constraint, 54: a limit of the server's, such as a key too long for an index.
 */
export function recordRefusalOf(error: unknown): Refusal | null {
  const sqlError = sqlErrorOf(error)
  if (sqlError?.code === undefined || isPartitionMissing(error)) return null
  return ['22', '23', '54'].includes(sqlError.code.slice(0, 2))
    ? { sqlState: sqlError.code, message: sqlError.message }
    : null
}
