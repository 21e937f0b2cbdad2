import type { Period } from '../../domain/period.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { DimensionField } from '../dimensions.ts'
import {
  areSummarised,
  coverPeriod,
  NOTHING_SUMMARISED,
  type Summarised,
  selectSummarised,
} from './summarised.ts'
import type { SummaryColumn, SummaryField } from './summary-tables.ts'
import { columnsOfFields, findSummaryTables } from './summary-tables.ts'

/** What of the totals is wanted, and by what it is kept apart. */
export interface SummaryQuery {
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
  /** Whether days after the period belong to it too: those of a gateway whose clock is ahead. */
  readonly isOpenEnded?: boolean
  /** Absent: all groups. Else those with most of `sort`, of which every group has some or 0. */
  readonly page?: {
    readonly sort: SummaryField
    /** Whether they begin behind a group that is given. */
    readonly isBehind: boolean
  }
}

/** A query as one statement. */
export interface SummaryStatement {
  readonly text: string
  /** Whether sums of days serve it, and whether those of months do; else it reads `daily_usage`. */
  readonly usesDays: boolean
  readonly usesMonths: boolean
  readonly isOpenEnded: boolean
}

/** By what `selected` calls it, and by the names of sums in code. Numbers are text, and `null` is 0. */
export type SummaryRow = Readonly<Record<string, string | null>>

/**
 * Its parameters are the months, the days and the other days of a `Cover`, and where it has them the id of the
 * client, the last day of the period, and of a page: how many groups, then of the group before them its sum and
 * what names it.
 */
export function buildSummaryStatement(query: SummaryQuery): SummaryStatement {
  const { by, ofClient, columns, selected = [], joins = '', isOpenEnded = false, page } = query
  const orderBy = page === undefined ? query.orderBy : orderOf(page.sort, columnsOfFields(by), 'u.')
  const tables = findSummaryTables([
    ...by.filter((field) => field !== 'day'),
    ...(ofClient ? (['clientId'] as const) : []),
  ])
  const days = tables?.days ?? null
  const months = by.includes('day') ? null : (tables?.months ?? null)
  const kept = columnsOfFields(by)
  const part = (table: string, sums: readonly string[], among: string) =>
    `select ${[...kept.map((column) => `u.${column}`), ...sums].join(', ')} from ${SCHEMA}.${table} u
     where ${among}${ofClient ? ' and u.client_id = $4' : ''}`
  const stored = columns.map(({ column }) => `u.${column}`)
  const parts = [
    ...(months === null ? [] : [part(months, stored, 'u.day = any($1::date[])')]),
    ...(days === null ? [] : [part(days, stored, 'u.day = any($2::date[])')]),
    part(
      'daily_usage',
      columns.map(({ ofRow, column }) => `${ofRow} as ${column}`),
      isOpenEnded
        ? `(u.day = any($3::date[]) or u.day > $${ofClient ? 5 : 4}::date)`
        : 'u.day = any($3::date[])',
    ),
  ]
  const group = kept.length > 0 ? `group by ${kept.join(', ')}` : ''
  const firstOfPage = 4 + (ofClient ? 1 : 0) + (isOpenEnded ? 1 : 0)
  const text = `
select k.whole::text as "isWhole", ${['u.is_row as "isRow"', ...selected, ...columns.map(({ field }) => `u."${field}"`)].join(', ')}
from (select ${areSummarised('$1', '$2')} as whole) k
left join (
  select ${[`'' as is_row`, ...kept, ...columns.map(({ column, field }) => `sum(${column}) as "${field}"`)].join(', ')}
  from (${parts.join(' union all ')}) u
  ${group} ${page === undefined ? '' : pageOf(page, kept, columns, firstOfPage)}) u on true
${joins} ${orderBy === undefined ? '' : `order by ${orderBy}`}`
  return { text, usesDays: days !== null, usesMonths: months !== null, isOpenEnded }
}

function orderOf(sort: SummaryField, kept: readonly string[], prefix: string): string {
  return [`${prefix}"${sort}" desc`, ...kept.map((column) => prefix + column)].join(', ')
}

/** Which of the groups, in SQL; the first of its parameters has this number. */
function pageOf(
  { sort, isBehind }: NonNullable<SummaryQuery['page']>,
  kept: readonly string[],
  columns: readonly SummaryColumn[],
  parameter: number,
): string {
  const sum = columns.filter(({ field }) => field === sort).map(({ column }) => `sum(${column})`)
  const value = `$${parameter + 1}::numeric`
  const names = kept.map(
    (column, index) => `$${parameter + 2 + index}::${column === 'day' ? 'date' : 'text'}`,
  )
  const behind = `having ${sum} < ${value} or (${sum} = ${value} and (${kept.join(', ')}) > (${names.join(', ')}))`
  return `${isBehind ? behind : ''} order by ${orderOf(sort, kept, '')} limit $${parameter}`
}

/**
 * Answers from the summaries of months and days, and from `daily_usage` for all other days.
 *
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectSums(
  pool: Postgres,
  { text, usesDays, usesMonths, isOpenEnded }: SummaryStatement,
  period: Period,
  clientId: string | null,
  page: readonly unknown[] = [],
): Promise<readonly SummaryRow[]> {
  return await selectSummed(pool, period, (known) => {
    const { months, days, rest } = coverPeriod(period, {
      days: usesDays ? known.days : NOTHING_SUMMARISED.days,
      months: usesMonths ? known.months : NOTHING_SUMMARISED.months,
    })
    const values = [
      months,
      days,
      rest,
      ...(clientId === null ? [] : [clientId]),
      ...(isOpenEnded ? [period.toDay] : []),
      ...page,
    ]
    return { text, values }
  })
}

/** A day may be reopened between the two statements of an answer; it is rare that it is twice. */
const ATTEMPTS = 3

/**
 * Answers by one statement, which says for each row in `isWhole` whether what it takes from summaries is
 * summed up in its snapshot: no day is counted twice or left out, whatever is written meanwhile.
 *
 * @param build Its text and values, by what is summed up just now. A row without `isRow` stands for none.
 * @throws When Postgres is away: never a wrong number.
 */
export async function selectSummed(
  pool: Postgres,
  period: Period,
  build: (known: Summarised) => { readonly text: string; readonly values: unknown[] },
): Promise<readonly SummaryRow[]> {
  for (let attempt = 1; ; attempt += 1) {
    const known = attempt > ATTEMPTS ? NOTHING_SUMMARISED : await selectSummarised(pool, period)
    const { text, values } = build(known)
    const { rows } = await pool.query<SummaryRow>(text, values)
    if (rows[0]?.isWhole === 'true') return rows.filter(({ isRow }) => isRow !== null)
  }
}
