import { sqlStateOf } from './postgres.ts'

const QUERY_CANCELED = '57014'

/**
 * Whether a statement took too long: the server ended it at its limit. The store was reached then, and a smaller query
 * may be answered. A server that is silent beyond that limit is another matter, which the driver calls `Query read
 * timeout`: it is frozen, cut off, or behind a pooler without a connection for us, and would not answer less either.
 */
export function isQueryTimeout(error: unknown): boolean {
  return sqlStateOf(error) === QUERY_CANCELED
}
