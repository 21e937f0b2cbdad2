import { parsedJson } from '../../domain/json.ts'
import type { Period } from '../../domain/period.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { DIMENSIONS, type DimensionField, type NamedDimension } from '../dimensions.ts'
import { BYTE_FIELDS, TOKEN_CLASS_FIELDS } from '../query/usage-figures.ts'
import { findSummaryTables, LATENCY_TABLES } from '../summaries/summary-tables.ts'

/** What a report is broken down and filtered by: names in queries, and the dimensions that they mean. */
const GROUPS = {
  client: 'clientId',
  key: 'keyId',
  model: 'model',
  upstream: 'upstream',
} as const satisfies Readonly<Record<string, DimensionField>>

type DimensionGroup = keyof typeof GROUPS
type ReportField = (typeof GROUPS)[DimensionGroup]

/** The group of clients that a client was in on the day of its calls. */
const CLIENT_GROUP = 'group'

/** A dimension, the group that a client was in, or `axis:` and the name of an axis. */
export type ReportGroup = DimensionGroup | typeof CLIENT_GROUP | `axis:${string}`

export const REPORT_GROUPS = [...Object.keys(GROUPS), CLIENT_GROUP] as readonly (
  | DimensionGroup
  | typeof CLIENT_GROUP
)[]
/** More would be a list of every combination that was used, which `usage export` has. */
export const MOST_GROUPS = 2

/** The column and the names of a group. `field`: the dimension behind it; `null`: the source of rows makes the column. */
export function dimensionOf(group: ReportGroup): GroupedBy {
  if (isAxis(group)) return { field: null, column: VALUE_COLUMN }
  if (isClientGroup(group))
    return { field: null, column: CLIENT_GROUP_COLUMN, named: { table: 'groups', exported: CLIENT_GROUP } }
  const found = DIMENSIONS.find(({ field }) => field === GROUPS[group])
  if (found === undefined) throw new Error(`there is no dimension ${group}`)
  return { ...found, field: GROUPS[group] }
}

interface GroupedBy extends NamedDimension {
  readonly field: ReportField | null
  readonly named?: { readonly table: string; readonly exported: string }
}

/** The column of a call's value on the axis that a report is about. */
export const VALUE_COLUMN = 'axis_value'
/** The column of the group of clients that a row is in. */
export const CLIENT_GROUP_COLUMN = 'group_id'

export function isAxis(group: ReportGroup): group is `axis:${string}` {
  return group.startsWith('axis:')
}

export function isClientGroup(group: ReportGroup): group is typeof CLIENT_GROUP {
  return group === CLIENT_GROUP
}

/** The name of the axis among these groups; `null`: there is none. */
export function axisAmong(groups: readonly ReportGroup[]): string | null {
  return groups.find(isAxis)?.slice('axis:'.length) ?? null
}

export const INTERVALS = ['day', 'week', 'month'] as const
export type Interval = (typeof INTERVALS)[number]

/** The sums that rows and totals have, by their names in code. */
export const REPORT_SUMS = [
  'requests',
  'inputTokens',
  'outputTokens',
  'latencyUsSum',
  'latencyCount',
  'costPico',
  'errors',
  'unpriced',
  'estimated',
  ...TOKEN_CLASS_FIELDS,
  ...BYTE_FIELDS,
] as const

/** Histograms and shares of calls of which a report says within which time they are. */
export const PERCENTILES = {
  p50: { of: 'buckets', share: 0.5 },
  p95: { of: 'buckets', share: 0.95 },
  first_byte_p50: { of: 'first_bytes', share: 0.5 },
  first_byte_p95: { of: 'first_bytes', share: 0.95 },
} as const

export type Percentile = keyof typeof PERCENTILES

export const PERCENTILE_NAMES = Object.keys(PERCENTILES) as readonly Percentile[]

/** What rows can be sorted by, in SQL over a joined row `u`. */
const SORTS = {
  cost: 'u."costPico"',
  change: 'u."costPico" - u."before.costPico"',
  requests: 'u."requests"',
  errors: 'u."errors"',
  error_rate: 'u."errors"::numeric / nullif(u."requests", 0)',
  input_tokens: 'u."inputTokens"',
  output_tokens: 'u."outputTokens"',
  total_tokens: 'u."inputTokens" + u."outputTokens"',
  cache_read_tokens: 'u."cacheReadTokens"',
  cache_write_tokens: 'u."cacheWriteTokens"',
  reasoning_tokens: 'u."reasoningTokens"',
  request_bytes: 'u."requestBytes"',
  answer_bytes: 'u."answerBytes"',
  unpriced: 'u."unpriced"',
  estimated: 'u."estimated"',
  refused: 'u.refused',
  avg_latency: 'u."latencyUsSum" / nullif(u."latencyCount", 0)',
  p50: percentileIn('u', 'p50'),
  p95: percentileIn('u', 'p95'),
  first_byte_p50: percentileIn('u', 'first_byte_p50'),
  first_byte_p95: percentileIn('u', 'first_byte_p95'),
} as const

export type ReportSort = keyof typeof SORTS

export const REPORT_SORTS = Object.keys(SORTS) as readonly ReportSort[]

export function sortIn(sort: ReportSort): string {
  return `(${SORTS[sort]})::numeric`
}

/** The bucket that a percentile of the row `alias` is in, in SQL. Without a histogram the function takes as long as with one. */
export function percentileIn(alias: string, percentile: Percentile): string {
  const { of, share } = PERCENTILES[percentile]
  return `case when ${alias}.${of} is not null then ${SCHEMA}.latency_place(${alias}.${of}, ${share}) end`
}

/** Only what has one of these values is in the report. */
export interface ReportFilter {
  readonly group: ReportGroup
  readonly ids: readonly string[]
}

/** A report that is asked for, checked. */
export interface ReportQuery {
  readonly period: Period
  /** `null`: nothing is compared. */
  readonly before: Period | null
  /** At most two. Empty: totals alone. */
  readonly groupBy: readonly ReportGroup[]
  /** Each group once. */
  readonly filters: readonly ReportFilter[]
  /** `null`: there is no series. */
  readonly interval: Interval | null
  /** How many groups have a series of their own. */
  readonly top: number
  readonly sort: ReportSort
  readonly order: 'desc' | 'asc'
  /** A part of a name or an id, whatever its case; `null`: all groups are shown. */
  readonly search: string | null
  readonly limit: number
  /** Whether what the operator pays is asked for, too. Absent: it is not. */
  readonly costs?: boolean
  /** `null`: from the first row on. */
  readonly after: ReportRowEnd | null
}

/** The last row of the page before: what it is sorted by (`null`: not known of it), and its ids. */
export interface ReportRowEnd {
  readonly value: string | null
  readonly ids: readonly string[]
}

/** The dimensions that a report needs apart. */
function fieldsOf({ groupBy, filters }: Pick<ReportQuery, 'groupBy' | 'filters'>): readonly ReportField[] {
  return groupsOf({ groupBy, filters }).flatMap((group) => {
    if (isAxis(group)) return []
    return isClientGroup(group) ? 'clientId' : GROUPS[group]
  })
}

function groupsOf({ groupBy, filters }: Pick<ReportQuery, 'groupBy' | 'filters'>): readonly ReportGroup[] {
  return [...groupBy, ...filters.map(({ group }) => group)]
}

/** Whether refused calls are kept apart by all that a report is about. */
export function hasRefused(query: Pick<ReportQuery, 'groupBy' | 'filters'>): boolean {
  return !fieldsOf(query).includes('upstream') && axisAmong(groupsOf(query)) === null
}

/** Whether latencies are. */
export function hasLatencies(query: Pick<ReportQuery, 'groupBy' | 'filters'>): boolean {
  return findSummaryTables(fieldsOf(query), LATENCY_TABLES) !== null && axisAmong(groupsOf(query)) === null
}

/** Names the place behind a row, for queries with the same groups, sort and order. */
export function reportCursorBehind(
  { value, ids }: ReportRowEnd,
  { sort, order, groupBy }: Pick<ReportQuery, 'sort' | 'order' | 'groupBy'>,
): string {
  return Buffer.from(JSON.stringify([sort, order, groupBy.join(), value, ...ids])).toString('base64url')
}

const VALUE = /^-?[0-9]{1,60}(?:\.[0-9]{1,60})?$/

/** `null`: it is not of such a query. */
export function parseReportCursor(
  text: string,
  { sort, order, groupBy }: Pick<ReportQuery, 'sort' | 'order' | 'groupBy'>,
): ReportRowEnd | null {
  const [ofSort, ofOrder, groups, value, ...ids] = partsOf(text)
  if (ofSort !== sort || ofOrder !== order || groups !== groupBy.join()) return null
  if (value !== null && (typeof value !== 'string' || !VALUE.test(value))) return null
  const names = ids.filter((id) => typeof id === 'string' && !id.includes('\0')) as string[]
  return names.length === groupBy.length && names.length === ids.length ? { value, ids: names } : null
}

function partsOf(cursor: string): readonly unknown[] {
  const parts = parsedJson(Buffer.from(cursor, 'base64url').toString())
  return Array.isArray(parts) ? parts : []
}
