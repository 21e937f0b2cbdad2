import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import type { PostgresSession } from './postgres.ts'

/** A day of a busy gateway has millions of calls; one query over them may take minutes. */
const LONG_MS = 600_000
/** The server ends the statement at its limit and says so. The client gives up on one that is silent beyond it. */
const SILENCE_MS = 5_000
/** Where the groups of a million calls fit: on disk they take twice as long. */
const WORK_MEMORY_MB = 64

/**
 * Runs a statement over many calls, inside a transaction. The server and the client allow it more time than others.
 */
export async function queryLong<Row extends QueryResultRow>(
  session: PostgresSession,
  text: string,
  values: unknown[],
): Promise<QueryResult<Row>> {
  await session.query(`set local statement_timeout = ${LONG_MS}; set local work_mem = '${WORK_MEMORY_MB}MB'`)
  const config: PatientQuery = { text, values, query_timeout: LONG_MS + SILENCE_MS }
  return await session.query<Row>(config)
}

/** The driver accepts a limit for each statement, which its types lack. */
interface PatientQuery extends QueryConfig {
  readonly query_timeout: number
}
