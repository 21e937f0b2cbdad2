import type { Postgres, PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { ALL_REQUESTS } from '../usage/summaries/summarised.ts'

/** Two ways to know how many requests were counted since ever; the same number where all is well. */
export interface RequestProof {
  /** By the producers' committed offsets, less what lies in unfilled gaps and unresolved dead letters. */
  readonly counted: bigint
  /** The requests in `daily_usage`: of days that are over by their sums, which `verify` holds against its rows. */
  readonly totals: bigint
}

/**
 * Every sequence at or under a committed offset is in the totals, in a gap, or a dead letter: docs/ledger.md,
 * section 5.
 */
export async function selectRequestProof(session: Postgres | PostgresSession): Promise<RequestProof> {
  const { rows } = await session.query<{ counted: string; totals: string }>(
    `select (select coalesce(sum(mark), 0) from ${SCHEMA}.producers)
         - (select coalesce(sum(to_seq - from_seq + 1), 0) from ${SCHEMA}.ledger_gaps where filled_at is null)
         - (select count(*) from ${SCHEMA}.dead_letters where resolved_at is null) as counted,
       ${ALL_REQUESTS} as totals`,
  )
  return { counted: BigInt(rows[0]?.counted ?? '0'), totals: BigInt(rows[0]?.totals ?? '0') }
}
