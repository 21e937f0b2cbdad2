import type { Postgres } from '../../store/connection/postgres.ts'
import { renderForClient, renderForOperator, sortByGroups } from './render-usage.ts'
import { type ShownFigures, selectUsageSummary, type UsageRow } from './select-usage.ts'
import type { UsageQuery } from './usage-query.ts'

/** A query by a client, of itself. */
export type ClientQuery = UsageQuery & { readonly client: NonNullable<UsageQuery['client']> }

/**
 * The answer of `GET /v1/usage`.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function answerClient(pool: Postgres, query: ClientQuery) {
  return renderForClient(await selectRows(pool, query, 'summary'), query)
}

/**
 * The answer to an operator, as a document and as its rows.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function answerOperator(pool: Postgres, query: UsageQuery) {
  const rows = sortByGroups(await selectRows(pool, query, 'all'), query.groupBy)
  return { rows, document: renderForOperator(rows, query) }
}

async function selectRows(
  pool: Postgres,
  query: UsageQuery,
  shown: ShownFigures,
): Promise<readonly UsageRow[]> {
  const { client, fromDay, toDay, groupBy } = query
  return await selectUsageSummary(pool, { clientId: client?.id ?? null, fromDay, toDay, groupBy }, shown)
}
