import { isPartitionMissing } from '../src/store/add-calls.ts'
import { sqlErrorOf } from '../src/store/postgres.ts'

/** Why an entry cannot be counted. */
export interface Refusal {
  readonly sqlState: string | null
  readonly message: string
}

/** The checksum holds, but nobody of ours wrote this. */
export const NOT_A_RECORD: Refusal = { sqlState: null, message: 'the body is not a record' }

/** Serialization failure or deadlock: nothing is wrong with the batch. */
export function isLostRace(error: unknown): boolean {
  const code = sqlErrorOf(error)?.code
  return code === '40001' || code === '40P01'
}

/**
 * Why Postgres refuses what is in the batch; `null` for every other error. Class 22: data exception, 23: integrity
 * constraint, 54: a limit of the server's, such as a key too long for an index.
 */
export function refusalOf(error: unknown): Refusal | null {
  const sqlError = sqlErrorOf(error)
  if (sqlError?.code === undefined || isPartitionMissing(error)) return null
  return ['22', '23', '54'].includes(sqlError.code.slice(0, 2))
    ? { sqlState: sqlError.code, message: sqlError.message }
    : null
}
