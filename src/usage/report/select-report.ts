import { countsBy } from '../../call/usage.ts'
import type { PostgresSession } from '../../store/connection/postgres.ts'
import { type DimensionField, joinNames, nameIn } from '../dimensions.ts'
import { NOTHING_SUMMARISED, type Summarised } from '../summaries/summarised.ts'
import { LATENCY_COLUMNS, SUMMARY_COLUMNS } from '../summaries/summary-tables.ts'
import { type AxisOrder, axisSource } from './axis-source.ts'
import { byPlace, inPlace, type PlaceOrder, placeOf } from './group-source.ts'
import {
  axisAmong,
  dimensionOf,
  hasLatencies,
  hasRefused,
  type Interval,
  isAxis,
  isClientGroup,
  PERCENTILE_NAMES,
  type Percentile,
  percentileIn,
  REPORT_SUMS,
  type ReportGroup,
  type ReportQuery,
  type ReportRowEnd,
  sortIn,
} from './report-query.ts'
import {
  ALL_REFUSALS,
  conditionOf,
  latencySource,
  type Only,
  type SourceOrder,
  usageSource,
  Values,
} from './report-source.ts'

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

/** The sums that reports have. */
export const REPORT_COLUMNS = SUMMARY_COLUMNS.filter(({ field }) =>
  REPORT_SUMS.some((name) => name === field),
)

/** The groups of a report that are shown, in its order: the page that is asked for, and one more where there is one. */
export async function selectReportRows(
  session: PostgresSession,
  query: ReportQuery,
  known: Summarised,
): Promise<readonly ReportRow[]> {
  const { groupBy, search, sort, order, limit, after } = query
  const values = new Values()
  const dimensions = groupBy.map(dimensionOf)
  const kept = dimensions.map(({ column }) => column)
  const joined = joinedSource(query, groupBy, known, values)
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
  return rows.map((row) => {
    const ids = kept.map((column) => row[column] ?? '')
    return {
      names: ids.map((id, index) => ({ id, name: row[`name_${index}`] ?? null })),
      end: { value: row.sorted ?? null, ids },
      ...totalsFrom(row, query),
    }
  })
}

/** Everything in one row. */
export async function selectReportTotals(
  session: PostgresSession,
  query: ReportQuery,
  known: Summarised,
): Promise<ReportTotals> {
  const values = new Values()
  const { rows } = await session.query<SqlRow>(
    `select u.*, ${percentiles('u')} from (${joinedSource(query, [], known, values)}) u`,
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
  // Values and groups of clients are known only in the rows that the source makes.
  const isMade = axis !== null || place !== null
  const topOfSource = top === null || isMade ? [] : [{ fields, ids: top }]
  const only = [...filtersOf(query), ...topOfSource]
  const order = { by: fields, keepsDay: true, only, periods: [query.period], known } as const
  const source = sourceOf(query.interval === 'month' ? order : byDay(order), { axis, place }, values)
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

/** Usage, refused calls and latencies of each group, as rows with the columns of all. */
function joinedSource(
  query: ReportQuery,
  groupBy: readonly ReportGroup[],
  known: Summarised,
  values: Values,
): string {
  const { period, before } = query
  const by = fieldsAmong(groupBy)
  const kept = groupBy.map((group) => dimensionOf(group).column)
  const only = filtersOf(query)
  const axis = axisOf(query, groupBy)
  const place = placeOf(query, groupBy)
  const order: SourceOrder = {
    by,
    keepsDay: false,
    only,
    periods: before === null ? [period] : [period, before],
    known,
  }
  const sums = REPORT_COLUMNS.flatMap(({ column, field }) => [
    `coalesce(sum(${column}) filter (where not is_before), 0) as "${field}"`,
    ...(before === null ? [] : [`coalesce(sum(${column}) filter (where is_before), 0) as "before.${field}"`]),
  ])
  const grouping = kept.length === 0 ? '' : `group by ${kept.join(', ')}`
  const grouped = (source: string, selected: readonly string[]) =>
    `(select ${[...kept, ...selected].join(', ')} from (${source}) u ${grouping})`
  const within = (source: string) => (place === null ? source : inPlace(source, place, values))
  const refused = hasRefused(query)
    ? grouped(within(refusedSource(only, period, values)), ['sum(calls) as refused'])
    : null
  const latencies = hasLatencies(query)
    ? grouped(
        within(latencySource({ ...(place === null ? order : byPlace(order)), periods: [period] }, values)),
        LATENCY_COLUMNS.map(({ column }) => `sum(${column}) as ${column}`),
      )
    : null
  const joinTo = (kind: 'full' | 'left', source: string | null, name: string) => {
    if (source === null) return ''
    return kept.length === 0
      ? `cross join ${source} ${name}`
      : `${kind} join ${source} ${name} using (${kept.join(', ')})`
  }
  const sumNames = REPORT_COLUMNS.flatMap(({ field }) => [
    `"${field}"`,
    ...(before === null ? [] : [`"before.${field}"`]),
  ])
  const shown = [
    ...kept,
    ...sumNames.map((name) => `coalesce(${name}, 0) as ${name}`),
    refused === null ? 'null::numeric as refused' : 'coalesce(refused, 0) as refused',
    ...LATENCY_COLUMNS.map(({ column }) => (latencies === null ? `null::numeric as ${column}` : column)),
  ]
  const used = grouped(sourceOf(order, { axis, place }, values), sums)
  // What is taken from `(none)` may leave nothing of it.
  const some = axis?.isKept === true ? `where ${sumNames.map((name) => `${name} <> 0`).join(' or ')}` : ''
  return `select ${shown.join(', ')} from (select * from ${used} used ${some}) used
    ${joinTo('full', refused, 'refusals')} ${joinTo('left', latencies, 'latencies')}`
}

function refusedSource(
  only: readonly Only[],
  { fromDay, toDay }: ReportQuery['period'],
  values: Values,
): string {
  const [from, to] = [values.add(fromDay, 'date'), values.add(toDay, 'date')]
  const conditions = only.map((one) => ` and ${conditionOf(one, values)}`).join('')
  return `select u.* from ${ALL_REFUSALS} u
    where u.day between ${from} and ${to}${conditions}`
}

/** What rows are needed by, beside dimensions. */
interface Made {
  readonly axis: AxisOrder | null
  readonly place: PlaceOrder | null
}

function sourceOf(order: SourceOrder, { axis, place }: Made, values: Values): string {
  if (place !== null) return inPlace(sourceOf(byPlace(order), { axis, place: null }, values), place, values)
  return axis === null
    ? usageSource(order, values, REPORT_COLUMNS)
    : axisSource(order, axis, values, REPORT_COLUMNS)
}

/** No day of a month that is read from its sum is known. */
function byDay(order: SourceOrder): SourceOrder {
  return { ...order, known: { ...order.known, months: NOTHING_SUMMARISED.months } }
}

/** The axis that rows are needed by, beside dimensions; `null`: none. */
function axisOf(
  { filters }: Pick<ReportQuery, 'filters'>,
  groupBy: readonly ReportGroup[],
): AxisOrder | null {
  const grouped = axisAmong(groupBy)
  const filter = filters.find(({ group }) => isAxis(group))
  const name = grouped ?? (filter === undefined ? null : axisAmong([filter.group]))
  return name === null ? null : { name, isKept: grouped !== null, only: filter?.ids ?? null }
}

/** The dimensions among groups. */
export function fieldsAmong(groups: readonly ReportGroup[]): readonly DimensionField[] {
  return groups.flatMap((group) => dimensionOf(group).field ?? [])
}

/** What filters say of dimensions. */
export function filtersOf({ filters }: Pick<ReportQuery, 'filters'>): readonly Only[] {
  return filters.flatMap(({ group, ids }) => {
    const { field } = dimensionOf(group)
    return field === null ? [] : [{ fields: [field], ids: ids.map((id) => [id]) }]
  })
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
