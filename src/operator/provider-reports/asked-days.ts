import type { Period } from '../../domain/period.ts'
import { addDays, type UtcDay, utcDayOf } from '../../domain/utc-day.ts'
import { isReportDay } from '../../operations/fields.ts'
import { unknownField } from '../../operations/read-input.ts'
import { invalid } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { readDailySums } from '../../usage/report/read-report.ts'
import type { ReportGroup } from '../../usage/report/report-query.ts'
import type { SeriesRow } from '../../usage/report/select-report.ts'

/** How a provider's report names what ours has. */
export interface ReportNames {
  readonly from: string
  readonly to: string
  /** The start of a period as the provider writes it, in milliseconds since 1970; `null`: it is not one. */
  readonly parse: (text: string) => number | null
  /** What results can be apart by. */
  readonly groups: ReadonlyMap<string, ReportGroup>
  /** Lists of ids that are wanted. */
  readonly filters: ReadonlyMap<string, ReportGroup>
  /** Parameters that the provider has, and that cannot change an answer of ours. */
  readonly ignored: readonly string[]
  readonly mostDays: number
}

/** A day of the answer, and what was used on it. */
export interface DayBucket {
  readonly day: UtcDay
  readonly rows: readonly SeriesRow[]
}

export interface DayBuckets {
  readonly days: readonly DayBucket[]
  /** The provider's names of the groups, in the order of the ids of rows. */
  readonly groups: readonly string[]
  /** The first day of the next page; `null`: this was the last one. */
  readonly next: UtcDay | null
}

const DEFAULT_DAYS = 7
const WIDTH = 'bucket_width'

/** Answers such a query by days, as the providers' reports do. Days that are not over are as far as they have come. */
export async function readBuckets(
  read: <Result>(work: (pool: Postgres) => Promise<Result>) => Promise<Result>,
  written: Readonly<Record<string, unknown>>,
  names: ReportNames,
  nowMs: number,
): Promise<DayBuckets> {
  const asked = listsOf(written)
  const known = [names.from, names.to, WIDTH, 'group_by', 'limit', 'page', ...names.filters.keys()]
  for (const name of asked.keys())
    if (!known.includes(name) && !names.ignored.includes(name)) throw unknownField(name)
  if ((asked.get(WIDTH)?.[0] ?? '1d') !== '1d') throw invalid(WIDTH, 'must be 1d: totals are kept by the day')
  const groups = [...new Set(asked.get('group_by'))]
  const groupBy = groups.map((name) => {
    const group = names.groups.get(name)
    if (group === undefined) throw invalid('group_by', `must name ${[...names.groups.keys()].join(', ')}`)
    return group
  })
  const { period, next } = pageOf(asked, names, nowMs)
  const filters = [...names.filters].flatMap(([name, group]) => {
    const ids = asked.get(name)
    return ids === undefined ? [] : [{ group, ids }]
  })
  const rows = await read((pool) => readDailySums(pool, { period, groupBy, filters }))
  const byDay = Map.groupBy(rows, ({ from }) => from)
  const days: DayBucket[] = []
  for (let day = period.fromDay; day <= period.toDay; day = addDays(day, 1))
    days.push({ day, rows: byDay.get(day) ?? [] })
  return { days, groups, next }
}

function pageOf(
  asked: ReadonlyMap<string, readonly string[]>,
  { from, to, parse, mostDays }: ReportNames,
  nowMs: number,
): { readonly period: Period; readonly next: UtcDay | null } {
  const timeOf = (text: string) => {
    const ms = parse(text)
    return ms !== null && isReportDay(utcDayOf(ms)) ? ms : null
  }
  const startMs = timeOf(asked.get(from)?.[0] ?? '')
  if (startMs === null) throw invalid(from, 'is missing, or is not a time')
  const written = asked.get(to)?.[0]
  const endMs = written === undefined ? nowMs + 1 : timeOf(written)
  if (endMs === null || endMs <= startMs) throw invalid(to, `must be a time after ${from}`)
  const limit = Number(asked.get('limit')?.[0] ?? DEFAULT_DAYS)
  if (!Number.isInteger(limit) || limit < 1 || limit > mostDays)
    throw invalid('limit', `must be one integer from 1 to ${mostDays}`)
  const page = asked.get('page')?.[0]
  if (page !== undefined && !isReportDay(page))
    throw invalid('page', 'must be next_page of an answer to the same query')
  const fromDay = page ?? utcDayOf(startMs)
  const [end, today] = [utcDayOf(endMs - 1), utcDayOf(nowMs)]
  const lastDay = end < today ? end : today
  const pageEnd = addDays(fromDay, limit - 1)
  return pageEnd < lastDay
    ? { period: { fromDay, toDay: pageEnd }, next: addDays(pageEnd, 1) }
    : { period: { fromDay, toDay: lastDay }, next: null }
}

/** Lists are written as `name[]`, as `name` several times, or with commas between. */
function listsOf(written: Readonly<Record<string, unknown>>): ReadonlyMap<string, readonly string[]> {
  const lists = new Map<string, string[]>()
  for (const [name, value] of Object.entries(written)) {
    const own = name.replace(/\[\]$/, '')
    const texts = [value].flat().flatMap((one) => `${one}`.split(','))
    lists.set(own, [...(lists.get(own) ?? []), ...texts])
  }
  return lists
}
