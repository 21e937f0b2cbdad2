import { countsBy } from '../../call/usage.ts'
import { UNKNOWN_MODEL } from '../../domain/model-name.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import {
  GROUP_DIMENSIONS,
  type GroupDimension,
  type GroupField,
  joinNames,
  type NameField,
  nameIn,
  type UsageGroup,
} from '../dimensions.ts'
import {
  buildSummaryStatement,
  type SummaryRow,
  type SummaryStatement,
  selectSums,
} from '../summaries/read-summaries.ts'
import { SUMMARY_COLUMNS } from '../summaries/summary-tables.ts'
import { type GroupTotals, RELIABILITY_FIELDS, SUMMARY_FIELDS, UNPRICED_FIELDS } from './usage-figures.ts'
import { sortFieldOf, type UsagePage } from './usage-page.ts'

export interface UsageScope {
  /** `null`: every client. */
  readonly clientId: string | null
  /** First and last UTC day, YYYY-MM-DD, both included. */
  readonly fromDay: string
  readonly toDay: string
}

export interface GroupedScope extends UsageScope {
  /** Empty: one row over everything, also when there was nothing. */
  readonly groupBy: readonly UsageGroup[]
}

/**
 * What a row is the totals of; `null` where it is not grouped by that, and in a name that is no longer known.
 */
type Group = Readonly<Record<GroupField | NameField, string | null>>

/** Exact sums over the days asked for. */
export type UsageRow = GroupTotals & Group

/** Whether an answer shows only the figures of a summary, or also those that say how far they are known. */
export type ShownFigures = 'summary' | 'all'

/** The columns that a grouping adds, ids before names, each under the name of its field. */
function columnsOf({ field, column, named }: GroupDimension): readonly GroupColumn[] {
  const id = { expression: `u.${column}`, field }
  return named === undefined ? [id] : [id, { expression: nameIn(named), field: named.field }]
}

interface GroupColumn {
  readonly expression: string
  readonly field: GroupField | NameField
}

const ALWAYS: readonly string[] = SUMMARY_FIELDS
const WITHOUT_GROUPS: readonly string[] = [...SUMMARY_FIELDS, ...RELIABILITY_FIELDS]
const WITH_GROUPS: readonly string[] = [...WITHOUT_GROUPS, ...UNPRICED_FIELDS]

function fieldsShown(isGrouped: boolean, shown: ShownFigures): readonly string[] {
  if (shown === 'summary') return ALWAYS
  return isGrouped ? WITH_GROUPS : WITHOUT_GROUPS
}

/** Statements by their groups, each built once: there are at most as many as orders of groups. */
const STATEMENTS = new Map<string, SummaryStatement>()

function statementOf(
  { groupBy, clientId }: Pick<GroupedScope, 'groupBy' | 'clientId'>,
  shown: ShownFigures,
  page: UsagePage | null,
): SummaryStatement {
  const pageName = page === null ? '' : `${page.sort} ${page.after === null}`
  const name = `${shown} ${clientId === null} ${groupBy.join()} ${pageName}`
  const known = STATEMENTS.get(name)
  if (known !== undefined) return known
  const groups = [...new Set(groupBy)].flatMap((name) =>
    GROUP_DIMENSIONS.filter(({ group }) => group.name === name),
  )
  const columns = groups.flatMap(columnsOf)
  const fields = fieldsShown(groups.length > 0, shown)
  const statement = buildSummaryStatement({
    by: groups.map(({ field }) => field),
    ofClient: clientId !== null,
    columns: SUMMARY_COLUMNS.filter(({ field }) => fields.includes(field)),
    selected: columns.map(({ expression, field }) => `${expression} as "${field}"`),
    joins: joinNames(groups),
    ...(page === null ? {} : { page: { sort: sortFieldOf(page.sort), isBehind: page.after !== null } }),
    ...(groups.length === 0 ? {} : { orderBy: columns.map(({ expression }) => expression).join(', ') }),
  })
  STATEMENTS.set(name, statement)
  return statement
}

const NAME_FIELDS = GROUP_DIMENSIONS.flatMap(({ field, named }) =>
  named === undefined ? [field] : [field, named.field],
)
const SUM_FIELDS = [...SUMMARY_FIELDS, ...RELIABILITY_FIELDS, ...UNPRICED_FIELDS]

/**
 * Usage, corrections included. Rows come in the order of the groups, or of the page.
 *
 * @param shown What is not shown is not read, and 0 in the rows.
 * @param page Of a query by groups; `null`: all of them.
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectUsageSummary(
  pool: Postgres,
  scope: GroupedScope,
  shown: ShownFigures = 'all',
  page: UsagePage | null = null,
): Promise<UsageRow[]> {
  const after = page?.after ?? null
  const pageValues =
    page === null ? [] : [page.limit, ...(after === null ? [] : [`${after.value}`, ...after.ids])]
  const rows = await selectSums(pool, statementOf(scope, shown, page), scope, scope.clientId, pageValues)
  return rows.map(usageRowFrom)
}

function usageRowFrom(row: SummaryRow): UsageRow {
  return {
    ...countsBy(NAME_FIELDS, (field) => row[field] ?? null),
    ...countsBy(SUM_FIELDS, (field) => BigInt(row[field] ?? '0')),
  }
}

/** What requests named whose calls are totalled as `(unknown)`. */
export interface RequestedName {
  /** As the requests wrote it, cleaned and bounded. */
  readonly model: string
  readonly requests: bigint
}

const SHOWN_NAMES = 20

/**
 * The names that those asked for whose calls are totalled as `(unknown)`, those with most calls first, at
 * most 20: from the single calls, as far as they are kept. Clients choose these names, so there is no end to
 * them.
 */
export async function selectRequestedNames(
  pool: Postgres,
  { clientId, fromDay, toDay }: UsageScope,
): Promise<RequestedName[]> {
  const { rows } = await pool.query<{ model: string; requests: string }>(
    `select requested_model as model, count(*) as requests from ${SCHEMA}.calls
     where day between $1 and $2 and model = $3 and requested_model is not null
       and ($4::text is null or client_id = $4)
     group by requested_model order by requests desc, requested_model limit ${SHOWN_NAMES}`,
    [fromDay, toDay, UNKNOWN_MODEL, clientId],
  )
  return rows.map(({ model, requests }) => ({ model, requests: BigInt(requests) }))
}
