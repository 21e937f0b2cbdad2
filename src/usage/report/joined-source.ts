import type { DimensionField } from '../dimensions.ts'
import { NOTHING_SUMMARISED, type Summarised } from '../summaries/summarised.ts'
import { LATENCY_COLUMNS, SUMMARY_COLUMNS } from '../summaries/summary-tables.ts'
import { type AxisOrder, axisSource } from './axis-source.ts'
import { byPlace, inPlace, type PlaceOrder, placeOf } from './group-source.ts'
import {
  axisAmong,
  dimensionOf,
  hasRefused,
  isAxis,
  REPORT_SUMS,
  type ReportGroup,
  type ReportQuery,
} from './report-query.ts'
import {
  ALL_REFUSALS,
  conditionOf,
  latencySource,
  type Only,
  type SourceOrder,
  usageSource,
  type Values,
} from './report-source.ts'

export const REPORT_COLUMNS = SUMMARY_COLUMNS.filter(({ field }) =>
  REPORT_SUMS.some((name) => name === field),
)

/** What of each group is read. */
export interface WantedFigures {
  readonly columns: typeof REPORT_COLUMNS
  readonly hasLatencies: boolean
  /** The groups with these ids alone; `null`: all of them. */
  readonly among: readonly (readonly string[])[] | null
}

/** Usage, refused calls and latencies of each group, as rows with the columns of all. */
export function joinedSource(
  query: ReportQuery,
  groupBy: readonly ReportGroup[],
  known: Summarised,
  values: Values,
  wanted: WantedFigures,
): string {
  const { period, before } = query
  const { columns, among } = wanted
  const by = fieldsAmong(groupBy)
  const kept = groupBy.map((group) => dimensionOf(group).column)
  const only = [...filtersOf(query), ...(among === null ? [] : [{ fields: by, ids: among }])]
  const axis = axisOf(query, groupBy)
  const place = placeOf(query, groupBy)
  const order: SourceOrder = {
    by,
    keepsDay: false,
    only,
    periods: before === null ? [period] : [period, before],
    known,
  }
  const sums = columns.flatMap(({ column, field }) => [
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
  const latencies = wanted.hasLatencies
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
  const sumNames = columns.flatMap(({ field }) => [
    `"${field}"`,
    ...(before === null ? [] : [`"before.${field}"`]),
  ])
  const shown = [
    ...kept,
    ...sumNames.map((name) => `coalesce(${name}, 0) as ${name}`),
    refused === null ? 'null::numeric as refused' : 'coalesce(refused, 0) as refused',
    ...LATENCY_COLUMNS.map(({ column }) => (latencies === null ? `null::numeric as ${column}` : column)),
  ]
  const used = grouped(rowsSource(order, { axis, place }, values, columns), sums)
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

export function rowsSource(
  order: SourceOrder,
  { axis, place }: Made,
  values: Values,
  columns = REPORT_COLUMNS,
): string {
  if (place !== null)
    return inPlace(rowsSource(byPlace(order), { axis, place: null }, values, columns), place, values)
  return axis === null ? usageSource(order, values, columns) : axisSource(order, axis, values, columns)
}

/** No day of a month that is read from its sum is known. */
export function withoutMonths(order: SourceOrder): SourceOrder {
  return { ...order, known: { ...order.known, months: NOTHING_SUMMARISED.months } }
}

/** Whether the source makes its rows, which costs most of it: values and groups of clients are known only in these. */
export function hasMadeRows(query: Pick<ReportQuery, 'filters'>, groupBy: readonly ReportGroup[]): boolean {
  return axisOf(query, groupBy) !== null || placeOf(query, groupBy) !== null
}

/** The axis that rows are needed by, beside dimensions; `null`: none. */
export function axisOf(
  { filters }: Pick<ReportQuery, 'filters'>,
  groupBy: readonly ReportGroup[],
): AxisOrder | null {
  const grouped = axisAmong(groupBy)
  const filter = filters.find(({ group }) => isAxis(group))
  const name = grouped ?? (filter === undefined ? null : axisAmong([filter.group]))
  return name === null ? null : { name, isKept: grouped !== null, only: filter?.ids ?? null }
}

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
