import { countsBy } from '../../call/usage.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { joinNames, nameIn } from '../dimension-names.ts'
import {
  GROUP_DIMENSIONS,
  type GroupDimension,
  type GroupField,
  type NameField,
  type UsageGroup,
} from '../dimensions.ts'
import { correctedIn, METRICS } from '../metrics-table.ts'
import { type GroupTotals, RELIABILITY_FIELDS, SUMMARY_FIELDS } from './usage-figures.ts'

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

const SUMMED: readonly string[] = [...SUMMARY_FIELDS, ...RELIABILITY_FIELDS]
const METERED = METRICS.filter(({ field }) => SUMMED.includes(field)).map(
  (metric) => `coalesce(sum(${correctedIn('u', metric)}), 0) as "${metric.field}"`,
)

const UNPRICED_FIELDS = ['unpricedInputTokens', 'unpricedOutputTokens', 'partlyUnpriced'] as const

/**
 * Prices that leave something out say what. Which tokens of a row have no price is unknown once a repricing
 * has priced a part of its calls.
 */
const WITHOUT_WHOLE_PRICE = `
  coalesce(sum(u.input_tokens) filter (where u.unpriced > u.priced_later), 0) as "unpricedInputTokens",
  coalesce(sum(u.output_tokens) filter (where u.unpriced > u.priced_later), 0) as "unpricedOutputTokens",
  coalesce(sum(u.requests + u.settlements) filter (where u.price_id in (
    select price_id from ${SCHEMA}.prices where definition ? 'unpriced')), 0) as "partlyUnpriced"`

/** The columns that a grouping adds, ids before names, each under the name of its field. */
function columnsOf({ field, column, named }: GroupDimension): readonly GroupColumn[] {
  const id = { expression: `u.${column}`, field }
  return named === undefined ? [id] : [id, { expression: nameIn(named), field: named.field }]
}

interface GroupColumn {
  readonly expression: string
  readonly field: GroupField | NameField
}

function buildStatement(groups: readonly GroupDimension[]): string {
  const columns = groups.flatMap(columnsOf)
  const selected = columns.map(({ expression, field }) => `${expression} as "${field}"`)
  const grouping = columns.map(({ expression }) => expression).join(', ')
  const isGrouped = groups.length > 0
  return `
select ${[...selected, ...METERED, ...(isGrouped ? [WITHOUT_WHOLE_PRICE] : [])].join(', ')}
from ${SCHEMA}.daily_usage u ${joinNames(groups)}
where u.day between $1 and $2 and ($3::text is null or u.client_id = $3)
${isGrouped ? `group by ${grouping} order by ${grouping}` : ''}`
}

const NAME_FIELDS = GROUP_DIMENSIONS.flatMap(({ field, named }) =>
  named === undefined ? [field] : [field, named.field],
)
const SUM_FIELDS = [...SUMMARY_FIELDS, ...RELIABILITY_FIELDS, ...UNPRICED_FIELDS]

/** Statements by their groups, each built once: there are at most as many as orders of groups. */
const STATEMENTS = new Map<string, string>()

function statementOf(groupBy: readonly UsageGroup[]): string {
  const name = groupBy.join()
  const known = STATEMENTS.get(name)
  if (known !== undefined) return known
  const statement = buildStatement(
    [...new Set(groupBy)].flatMap((name) => GROUP_DIMENSIONS.filter(({ group }) => group.name === name)),
  )
  STATEMENTS.set(name, statement)
  return statement
}

/**
 * Usage, from `daily_usage` alone. Rows come in the order of the groups.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectUsageSummary(pool: Postgres, scope: GroupedScope): Promise<UsageRow[]> {
  const { rows } = await pool.query<SqlRow>(statementOf(scope.groupBy), [
    scope.fromDay,
    scope.toDay,
    scope.clientId,
  ])
  return rows.map(usageRowFrom)
}

type SqlRow = Readonly<Record<string, string | null>>

function usageRowFrom(row: SqlRow): UsageRow {
  return {
    ...countsBy(NAME_FIELDS, (field) => row[field] ?? null),
    ...countsBy(SUM_FIELDS, (field) => BigInt(row[field] ?? '0')),
  }
}
