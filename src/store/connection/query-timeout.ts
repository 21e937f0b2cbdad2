import { sqlStateOf } from './postgres.ts'

const QUERY_CANCELED = '57014'
/** The driver's own error after `query_timeout`; it has no code. */
const NO_ANSWER = 'Query read timeout'

/**
 * Whether a statement took too long: the server ended it at its limit, or gave no answer until the client's.
 * The store was reached then, and a smaller query may be answered.
 */
export function isQueryTimeout(error: unknown): boolean {
  if (sqlStateOf(error) === QUERY_CANCELED) return true
  return error instanceof Error && error.message === NO_ANSWER
}
