import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { DimensionField } from '../dimensions.ts'
import {
  coverPeriod,
  NOTHING_SUMMARISED,
  type Period,
  STILL_SUMMARISED,
  selectSummarised,
} from './summarised.ts'
import type { SummaryColumn } from './summary-columns.ts'
import { columnsOfFields, findSummaryTables } from './summary-tables.ts'

/** What of the totals is wanted, and by what it is kept apart. */
export interface SummaryQuestion {
  /** Empty: one row over everything, also when there was nothing. */
  readonly by: readonly DimensionField[]
  /** Whether it is about one client. */
  readonly ofClient: boolean
  readonly columns: readonly SummaryColumn[]
  /**
   * What is selected of the groups `u` beside their sums, and joins to them, in SQL: names are joined to
   * groups, as rows of totals are many times as many.
   */
  readonly selected?: readonly string[]
  readonly joins?: string
  /** In SQL, of the groups `u`. */
  readonly orderBy?: string
}

/** A question as one statement. */
export interface SummaryStatement {
  readonly text: string
  /** Whether sums of days serve it, and whether those of months do; else it reads `daily_usage`. */
  readonly usesDays: boolean
  readonly usesMonths: boolean
}

/** By what `selected` calls it, and by the names of sums in code. Numbers are text, and `null` is 0. */
export type SummaryRow = Readonly<Record<string, string | null>>

/** Its parameters are the months, the days and the other days of a `Cover`, and the id of a client. */
export function buildSummaryStatement(question: SummaryQuestion): SummaryStatement {
  const { by, ofClient, columns, selected = [], joins = '', orderBy } = question
  const tables = findSummaryTables([
    ...by.filter((field) => field !== 'day'),
    ...(ofClient ? (['clientId'] as const) : []),
  ])
  const days = tables?.days ?? null
  const months = by.includes('day') ? null : (tables?.months ?? null)
  const kept = columnsOfFields(by)
  const part = (table: string, sums: readonly string[], among: '$1' | '$2' | '$3') =>
    `select ${[...kept.map((column) => `u.${column}`), ...sums].join(', ')} from ${SCHEMA}.${table} u
     where u.day = any(${among}::date[])${ofClient ? ' and u.client_id = $4' : ''}`
  const stored = columns.map(({ column }) => `u.${column}`)
  const parts = [
    ...(months === null ? [] : [part(months, stored, '$1')]),
    ...(days === null ? [] : [part(days, stored, '$2')]),
    part(
      'daily_usage',
      columns.map(({ ofRow, column }) => `${ofRow} as ${column}`),
      '$3',
    ),
  ]
  const text = `
select k.whole::text as "isWhole", ${['u.is_row as "isRow"', ...selected, ...columns.map(({ field }) => `u."${field}"`)].join(', ')}
from (select ${STILL_SUMMARISED} as whole) k
left join (
  select ${[`'' as is_row`, ...kept, ...columns.map(({ column, field }) => `sum(${column}) as "${field}"`)].join(', ')}
  from (${parts.join(' union all ')}) u
  ${kept.length > 0 ? `group by ${kept.join(', ')}` : ''}) u on true
${joins} ${orderBy === undefined ? '' : `order by ${orderBy}`}`
  return { text, usesDays: days !== null, usesMonths: months !== null }
}

/** A day may be reopened between the two statements of an answer; it is rare that it is twice. */
const ATTEMPTS = 3

/**
 * Answers from the summaries of months and days, and from `daily_usage` for all other days, in one snapshot:
 * no day is counted twice or left out, whatever is rolled up or corrected meanwhile.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectSums(
  pool: Postgres,
  { text, usesDays, usesMonths }: SummaryStatement,
  period: Period,
  clientId: string | null,
): Promise<readonly SummaryRow[]> {
  for (let attempt = 1; ; attempt += 1) {
    const known = attempt > ATTEMPTS ? NOTHING_SUMMARISED : await selectSummarised(pool, period)
    const { months, days, rest } = coverPeriod(period, {
      days: usesDays ? known.days : NOTHING_SUMMARISED.days,
      months: usesMonths ? known.months : NOTHING_SUMMARISED.months,
    })
    const values = [months, days, rest, ...(clientId === null ? [] : [clientId])]
    const { rows } = await pool.query<SummaryRow>(text, values)
    if (rows[0]?.isWhole === 'true') return rows.filter(({ isRow }) => isRow !== null)
  }
}
