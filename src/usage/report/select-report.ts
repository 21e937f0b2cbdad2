import { countsBy } from '../../call/usage.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { joinNames, nameIn } from '../dimensions.ts'
import type { Summarised } from '../summaries/summarised.ts'
import { placeOf } from './group-source.ts'
import {
  axisOf,
  fieldsAmong,
  filtersOf,
  hasMadeRows,
  joinedSource,
  REPORT_COLUMNS,
  rowsSource,
  type WantedFigures,
  withoutMonths,
} from './joined-source.ts'
import {
  dimensionOf,
  hasLatencies,
  type Interval,
  isClientGroup,
  PERCENTILE_NAMES,
  type Percentile,
  percentileIn,
  REPORT_SUMS,
  type ReportQuery,
  type ReportRowEnd,
  sortIn,
} from './report-query.ts'
import { Values } from './report-source.ts'

export type ReportSums = Readonly<Record<(typeof REPORT_SUMS)[number], bigint>>

/** What is known of a group, or of all. */
export interface ReportTotals {
  readonly now: ReportSums
  /** `null`: it was not asked for. */
  readonly before: ReportSums | null
  /** `null`: not kept by what the report is about. */
  readonly refused: bigint | null
  /** Places of buckets, from 0; `null`: not kept so, or no call has such a time. */
  readonly places: Readonly<Record<Percentile, number | null>>
}

export interface ReportRow extends ReportTotals {
  /** Of each group its id, and its name where it has one. */
  readonly names: readonly { readonly id: string; readonly name: string | null }[]
  readonly end: ReportRowEnd
}

/** A row of sums from one day, week or month on; without names where it is of all. */
export interface SeriesRow {
  readonly ids: readonly string[]
  readonly from: string
  readonly sums: ReportSums
}

export type SqlRow = Readonly<Record<string, string | null>>

/**
 * The groups of a report that are shown, in its order: the page that is asked for, and one more where there is one. What
 * all groups are sorted by is read first, and the other figures of those on the page alone.
 */
export async function selectReportRows(
  session: PostgresSession,
  query: ReportQuery,
  known: Summarised,
): Promise<readonly ReportRow[]> {
  const kept = query.groupBy.map((group) => dimensionOf(group).column)
  const isWhole = hasMadeRows(query, query.groupBy)
  const page = await selectPage(session, query, known, isWhole ? allOf(query) : sortedBy(query))
  const idsIn = (row: SqlRow) => kept.map((column) => row[column] ?? '')
  const figures =
    isWhole || page.length === 0 ? page : await selectFigures(session, query, known, page.map(idsIn))
  const byIds = new Map(figures.map((row) => [idsIn(row).join('\0'), row]))
  return page.map((row) => {
    const ids = idsIn(row)
    return {
      names: ids.map((id, index) => ({ id, name: row[`name_${index}`] ?? null })),
      end: { value: row.sorted ?? null, ids },
      ...totalsFrom(byIds.get(ids.join('\0')) ?? {}, query),
    }
  })
}

function allOf(query: ReportQuery): WantedFigures {
  return { columns: REPORT_COLUMNS, hasLatencies: hasLatencies(query), among: null }
}

/** What a report is sorted by, of all groups. */
function sortedBy({ sort }: ReportQuery): WantedFigures {
  const sorted = sortIn(sort)
  return {
    columns: REPORT_COLUMNS.filter(({ field }) => sorted.includes(`"${field}"`)),
    hasLatencies: PERCENTILE_NAMES.some((name) => name === sort),
    among: null,
  }
}

/** Groups in the order of the report, each with its names, what it is sorted by, and what is wanted of it. */
async function selectPage(
  session: PostgresSession,
  query: ReportQuery,
  known: Summarised,
  wanted: WantedFigures,
): Promise<readonly SqlRow[]> {
  const { groupBy, search, sort, order, limit, after } = query
  const values = new Values()
  const dimensions = groupBy.map(dimensionOf)
  const kept = dimensions.map(({ column }) => column)
  const joined = joinedSource(query, groupBy, known, values, wanted)
  const names = dimensions.map(({ named }) => (named === undefined ? 'null' : nameIn(named)))
  const sorted = sortIn(sort)
  const conditions = [
    ...(search === null
      ? []
      : [searchIn([...kept.map((column) => `u.${column}`), ...names], search, values)]),
    ...(after === null ? [] : [behind(after, { sorted, order, kept }, values)]),
  ]
  const ordering = [`sorted ${order} nulls last`, ...kept].join(', ')
  const { rows } = await session.query<SqlRow>(
    `select p.*, ${percentiles('p')} from (
       select u.*, ${[...names.map((name, index) => `${name} as name_${index}`), `${sorted} as sorted`].join(', ')}
       from (${joined}) u ${joinNames(dimensions)}
       ${conditions.length === 0 ? '' : `where ${conditions.join(' and ')}`}
       order by ${ordering} limit ${values.add(limit + 1, 'integer')}) p
     order by ${ordering}`,
    values.all,
  )
  return rows
}

/** All that is known of the groups with these ids, in no order. */
async function selectFigures(
  session: PostgresSession,
  query: ReportQuery,
  known: Summarised,
  among: readonly (readonly string[])[],
): Promise<readonly SqlRow[]> {
  const values = new Values()
  const joined = joinedSource(query, query.groupBy, known, values, { ...allOf(query), among })
  const { rows } = await session.query<SqlRow>(
    `select u.*, ${percentiles('u')} from (${joined}) u`,
    values.all,
  )
  return rows
}

/** Everything in one row. */
export async function selectReportTotals(
  session: PostgresSession,
  query: ReportQuery,
  known: Summarised,
): Promise<ReportTotals> {
  const values = new Values()
  const { rows } = await session.query<SqlRow>(
    `select u.*, ${percentiles('u')} from (${joinedSource(query, [], known, values, allOf(query))}) u`,
    values.all,
  )
  return totalsFrom(rows[0] ?? {}, query)
}

/** What a series is of. */
export interface SeriesOrder extends Pick<ReportQuery, 'period' | 'groupBy' | 'filters'> {
  readonly interval: Interval
}

/**
 * The sums of the period by its days, weeks or months.
 *
 * @param top The groups with these ids alone; `null`: all of them.
 */
export async function selectSeries(
  session: PostgresSession,
  query: SeriesOrder,
  known: Summarised,
  top: readonly (readonly string[])[] | null,
): Promise<readonly SeriesRow[]> {
  const values = new Values()
  const { groupBy } = query
  const kept = groupBy.map((group) => dimensionOf(group).column)
  const fields = fieldsAmong(groupBy)
  const axis = axisOf(query, groupBy)
  const place = placeOf(query, groupBy)
  const isMade = hasMadeRows(query, groupBy)
  const topOfSource = top === null || isMade ? [] : [{ fields, ids: top }]
  const only = [...filtersOf(query), ...topOfSource]
  const order = { by: fields, keepsDay: true, only, periods: [query.period], known } as const
  const source = rowsSource(
    query.interval === 'month' ? order : withoutMonths(order),
    { axis, place },
    values,
  )
  const among = top === null || !isMade ? '' : `where ${isAmong(kept, top, values)}`
  // Of the sums, which are few: of the rows Postgres expects a fraction and reads them by index, one after the other.
  const areGroups = groupBy.length === 1 && groupBy.every(isClientGroup)
  const summed = `
    select ${[...kept, `date_trunc('${query.interval}', day::timestamp)::date as start`].join(', ')},
      ${REPORT_COLUMNS.map(({ column, field }) => `coalesce(sum(${column}), 0) as "${field}"`).join(', ')}
    from (${source}) u ${areGroups ? '' : among} group by ${[...kept, 'start'].join(', ')}`
  const { rows } = await session.query<SqlRow>(
    areGroups ? `select * from (${summed} offset 0) u ${among}` : summed,
    values.all,
  )
  return rows.map((row) => ({
    ids: kept.map((column) => row[column] ?? ''),
    from: row.start ?? '',
    sums: reportSumsFrom(row, ''),
  }))
}

/** The condition that rows `u` have one of these ids in these columns. */
function isAmong(columns: readonly string[], ids: readonly (readonly string[])[], values: Values): string {
  const lists = columns.map((_, place) =>
    values.add(
      ids.map((row) => row[place] ?? ''),
      'text[]',
    ),
  )
  return `(${columns.map((column) => `u.${column}`).join(', ')}) in (select * from unnest(${lists.join(', ')}))`
}

function percentiles(alias: string): string {
  return PERCENTILE_NAMES.map((name) => `${percentileIn(alias, name)} as "${name}"`).join(', ')
}

function searchIn(columns: readonly string[], search: string, values: Values): string {
  const part = values.add(`%${search.replace(/[\\%_]/g, '\\$&')}%`, 'text')
  return `(${columns
    .filter((column) => column !== 'null')
    .map((column) => `${column} ilike ${part}`)
    .join(' or ')})`
}

/** Behind a row, in SQL. What is not known comes last in both orders. */
function behind(
  { value, ids }: ReportRowEnd,
  {
    sorted,
    order,
    kept,
  }: { readonly sorted: string; readonly order: 'asc' | 'desc'; readonly kept: readonly string[] },
  values: Values,
): string {
  const later = `(${kept.map((column) => `u.${column}`).join(', ')}) > (${ids.map((id) => values.add(id, 'text')).join(', ')})`
  if (value === null) return `(${sorted} is null and ${later})`
  const at = values.add(value, 'numeric')
  const beyond = `${sorted} ${order === 'desc' ? '<' : '>'} ${at}`
  return `(${beyond} or ${sorted} is null or (${sorted} = ${at} and ${later}))`
}

/** @param prefix Before the names of its columns. */
export function reportSumsFrom(row: SqlRow, prefix: string): ReportSums {
  return countsBy(REPORT_SUMS, (field) => BigInt(row[`${prefix}${field}`] ?? '0'))
}

function totalsFrom(row: SqlRow, { before }: ReportQuery): ReportTotals {
  const { refused = null } = row
  return {
    now: reportSumsFrom(row, ''),
    before: before === null ? null : reportSumsFrom(row, 'before.'),
    refused: refused === null ? null : BigInt(refused),
    places: countsBy(PERCENTILE_NAMES, (name) => {
      const place = row[name] ?? null
      return place === null ? null : Number(place)
    }),
  }
}
