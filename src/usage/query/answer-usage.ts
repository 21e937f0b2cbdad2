import type { Postgres } from '../../store/connection/postgres.ts'
import { renderForClient, renderForOperator, sortByGroups } from './render-usage.ts'
import { type ShownFigures, selectUsageSummary, type UsageRow } from './select-usage.ts'
import { cursorBehind } from './usage-page.ts'
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
 * The answer to an operator, as a document and as its rows. `next` is the cursor of the groups behind them; `null`:
 * there are none, or all were asked for.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function answerOperator(pool: Postgres, query: UsageQuery) {
  const { page = null, groupBy } = query
  if (page === null) {
    const rows = sortByGroups(await selectRows(pool, query, 'all'), groupBy)
    return { rows, document: renderForOperator(rows, query), next: null }
  }
  const andOneMore = { ...query, page: { ...page, limit: page.limit + 1 } }
  const found = await selectRows(pool, andOneMore, 'all')
  const rows = found.slice(0, page.limit)
  const last = found.length > page.limit ? rows.at(-1) : undefined
  const next = last === undefined ? null : cursorBehind(last, page.sort, groupBy)
  return { rows, document: renderForOperator(rows, query), next }
}

async function selectRows(
  pool: Postgres,
  query: UsageQuery,
  shown: ShownFigures,
): Promise<readonly UsageRow[]> {
  const { client, fromDay, toDay, groupBy, page } = query
  const scope = { clientId: client?.id ?? null, fromDay, toDay, groupBy }
  return await selectUsageSummary(pool, scope, shown, page)
}
