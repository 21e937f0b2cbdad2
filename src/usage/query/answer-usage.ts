import { picoToUsdText } from '../../domain/pico-usd.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { GROUP_DIMENSIONS, type GroupDimension, type UsageGroup } from '../dimensions.ts'
import { type ShownFigures, selectUsageSummary, type UsageRow } from './select-usage.ts'
import { FIGURES, RELIABILITY_FIGURES, renderFigures, renderSummary, sumTotals } from './usage-figures.ts'
import { cursorBehind } from './usage-page.ts'
import type { UsageQuery } from './usage-query.ts'

/** A query by a client, of itself. */
export type ClientQuery = UsageQuery & { readonly client: NonNullable<UsageQuery['client']> }

/** A client's usage as JSON: one summary of everything, and with groups the figures of each in `data`. */
function renderForClient(
  rows: readonly UsageRow[],
  {
    client,
    days,
    groupBy,
  }: Pick<UsageQuery, 'days' | 'groupBy'> & { readonly client: { readonly name: string } },
) {
  // From the same rows, so that the groups always add up to the whole, whatever is counted meanwhile.
  const summary = renderSummary(client.name, days, sumTotals(rows))
  if (groupBy.length === 0) return summary
  const data = rows.map((row) => ({ ...renderGroup(row, groupBy), ...renderFigures(FIGURES, row) }))
  return { ...summary, data }
}

/**
 * Usage as JSON for operators, the same on the command line and over HTTP: one summary, or with groups a list
 * of them with the groups' fields before each.
 */
function renderForOperator(
  rows: readonly UsageRow[],
  { client, days, groupBy }: Pick<UsageQuery, 'client' | 'days' | 'groupBy'>,
) {
  const documents = rows.map((row) => ({
    ...renderGroup(row, groupBy),
    ...renderSummary(groupBy.includes('client') ? row.clientName : (client?.name ?? null), days, row),
    cost_usd_text: picoToUsdText(row.costPico),
    ...(groupBy.length === 0 ? {} : renderFigures(RELIABILITY_FIGURES, row)),
  }))
  const [whole] = documents
  return groupBy.length === 0 && whole !== undefined ? whole : documents
}

interface GroupNameField {
  readonly name: string
  readonly of: (row: UsageRow) => string | null
  readonly description: string
  readonly isDay: boolean
  readonly isNullable: boolean
}

/** The fields that a grouping adds; none for the client, which every answer names. */
function fieldsOf({ field, column, type, named, group }: GroupDimension): readonly GroupNameField[] {
  if (group.isClient === true) return []
  const { description } = group
  const id = { name: column, of: (row: UsageRow) => row[field], description, isDay: type === 'date' }
  if (named === undefined) return [{ ...id, isNullable: false }]
  const name = { name: named.column, of: (row: UsageRow) => row[named.field], description: named.description }
  return [
    { ...id, isNullable: false },
    { ...name, isDay: false, isNullable: true },
  ]
}

/** The fields that name groups, in the order in which answers have them. */
export const GROUP_FIELDS = GROUP_DIMENSIONS.flatMap((dimension) =>
  fieldsOf(dimension).map((field) => ({ ...field, group: dimension.group.name })),
)

function renderGroup(row: UsageRow, groupBy: readonly UsageGroup[]): Readonly<Record<string, string | null>> {
  const fields = GROUP_FIELDS.filter(({ group }) => groupBy.includes(group))
  return Object.fromEntries(fields.map(({ name, of }) => [name, of(row)]))
}

const DIMENSION_OF = new Map(GROUP_DIMENSIONS.map((dimension) => [dimension.group.name, dimension]))

/** What people call the thing that `row` is the totals of, by one of its groups: its name, else its id. */
export function groupName(row: UsageRow, group: UsageGroup): string {
  const dimension = DIMENSION_OF.get(group)
  if (dimension === undefined) return ''
  const { field, named } = dimension
  return (named === undefined ? null : row[named.field]) ?? row[field] ?? ''
}

/** By the names that people read, as ids have no order that means anything. */
function sortByGroups(rows: readonly UsageRow[], groupBy: readonly UsageGroup[]): readonly UsageRow[] {
  return rows.toSorted((a, b) => {
    for (const group of groupBy) {
      const [nameOfA, nameOfB] = [groupName(a, group), groupName(b, group)]
      if (nameOfA !== nameOfB) return nameOfA < nameOfB ? -1 : 1
    }
    return 0
  })
}

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

/** A header, as the fields of answers are fixed: the answer has at least all that was counted by then, and may lack the rest. */
export const AS_OF = 'x-tallygate-as-of'

/** @param atMs milliseconds since 1970 */
export function asOf(atMs: number): Readonly<Record<string, string>> {
  return { [AS_OF]: new Date(atMs).toISOString() }
}
