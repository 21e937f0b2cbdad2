import { sqlErrorOf } from '../store/connection/postgres.ts'
import { isPartitionMissing } from '../usage/calls/add-calls.ts'

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
