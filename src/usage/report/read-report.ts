import { createHash } from 'node:crypto'
import { countsBy } from '../../call/usage.ts'
import { firstOfMonth, firstOfNextMonth, type Period } from '../../domain/period.ts'
import { addDays, type UtcDay } from '../../domain/utc-day.ts'
import { readContracts } from '../../pricing/contracts/contracts-table.ts'
import { NO_COSTS, type OperatorCosts } from '../../pricing/contracts/three-costs.ts'
import { inSnapshot, type Postgres, type PostgresSession } from '../../store/connection/postgres.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { ALL_COMMITTED } from '../../store/ledger/committed-offsets.ts'
import { selectCharges } from '../charges/charges-table.ts'
import { selectCosts } from '../costs/select-costs.ts'
import { type Summarised, selectSummarised } from '../summaries/summarised.ts'
import { placeOf, withoutMoves } from './group-source.ts'
import { fieldsAmong, filtersOf, hasMadeRows } from './joined-source.ts'
import {
  axisAmong,
  type Interval,
  isClientGroup,
  REPORT_SUMS,
  type ReportQuery,
  reportCursorBehind,
} from './report-query.ts'
import {
  type ReportRow,
  type ReportSums,
  type ReportTotals,
  type SeriesOrder,
  type SeriesRow,
  selectReportRows,
  selectReportTotals,
  selectSeries,
} from './select-report.ts'

/** What is charged beside calls; 1e-12 USD. */
interface OtherCosts {
  readonly otherPico: bigint
  /** Of that, what no client pays. */
  readonly unassignedPico: bigint
}

const NO_OTHER: OtherCosts = { otherPico: 0n, unassignedPico: 0n }

/**
 * Charges whose first day is in a period: of all, and of each group by the ids of it. Parts that were shared out are
 * those of their clients, and what is left of a charge is of none, so that all add up to what was charged. `null`: they
 * are not kept by what is asked for.
 */
async function selectOtherCosts(
  session: PostgresSession,
  { period, groupBy, filters }: Pick<ReportQuery, 'period' | 'groupBy' | 'filters'>,
): Promise<{ readonly totals: OtherCosts; readonly byGroup: ReadonlyMap<string, OtherCosts> } | null> {
  const asked = [...groupBy, ...filters.map(({ group }) => group)]
  if (asked.some((group) => group !== 'client' && group !== 'upstream')) return null
  const charges = await selectCharges(session, { period, clientId: null })
  const shared = Map.groupBy(charges, ({ sharedFrom }) => sharedFrom)
  let totals = NO_OTHER
  const byGroup = new Map<string, OtherCosts>()
  for (const { id, clientId, upstream, amountPico } of charges) {
    const ids: Partial<Record<string, string>> = { client: clientId ?? '', upstream: upstream ?? '' }
    if (filters.some((filter) => !filter.ids.includes(ids[filter.group] ?? ''))) continue
    const parts = shared.get(id) ?? []
    const otherPico = parts.reduce((left, part) => left - part.amountPico, amountPico)
    const one = { otherPico, unassignedPico: clientId === null ? otherPico : 0n }
    totals = add(totals, one)
    const name = groupBy.map((group) => ids[group] ?? '').join('\0')
    byGroup.set(name, add(byGroup.get(name) ?? NO_OTHER, one))
  }
  return { totals, byGroup }
}

function add(sum: OtherCosts, one: OtherCosts): OtherCosts {
  return {
    otherPico: sum.otherPico + one.otherPico,
    unassignedPico: sum.unassignedPico + one.unassignedPico,
  }
}

/** Sums of a group at each place of a series. */
export interface Series {
  readonly names: ReportRow['names']
  readonly sums: readonly ReportSums[]
}

export interface Report {
  readonly query: ReportQuery
  /** When the newest call or correction in it was counted; `null`: there is none. */
  readonly asOf: Date | null
  readonly totals: ReportTotals
  readonly rows: readonly ReportRow[]
  /** What the operator pays for all, and for each of the rows; `null`: it was not asked for. */
  readonly costs: { readonly totals: ReportCosts; readonly rows: readonly ReportCosts[] } | null
  /** `null`: it was not asked for, or the answer goes on behind a cursor. */
  readonly series: {
    /** The first days of its places, rising. */
    readonly starts: readonly UtcDay[]
    readonly groups: readonly Series[]
    /** All that no group of these has. */
    readonly other: readonly ReportSums[]
  } | null
}

/** What the operator pays, and what is charged beside calls; `null`: that is not kept by what the report is about. */
export interface ReportCosts extends OperatorCosts {
  readonly other: OtherCosts | null
}

/** `tag` names all that the answer is made of: where it is the same, so is the answer. */
export type ReadReport =
  | { readonly kind: 'same'; readonly tag: string }
  | { readonly kind: 'read'; readonly tag: string; readonly report: Report; readonly next: string | null }

/**
 * Reads a report, all of it on one snapshot.
 *
 * @param isHeld Whether the asker has the answer with this tag: then no total is read.
 * @throws When Postgres is away: never a wrong number.
 */
export async function readReport(
  pool: Postgres,
  query: ReportQuery,
  isHeld: (tag: string) => boolean,
): Promise<ReadReport> {
  return await inSnapshot(pool, (session) => readReportOn(session, query, isHeld))
}

/** The same on a snapshot that others read, too. */
export async function readReportOn(
  session: PostgresSession,
  query: ReportQuery,
  isHeld: (tag: string) => boolean,
): Promise<ReadReport> {
  const { state, asOf } = await selectState(session, query)
  const tag = createHash('sha256')
    .update(JSON.stringify([FORM, query, state, asOf]))
    .digest('base64url')
    .slice(0, 22)
  if (isHeld(tag)) return { kind: 'same', tag }
  const summarised = await selectSummarised(session, wholeOf(query), 'whole')
  const known = placeOf(query, query.groupBy) === null ? summarised : await withoutMoves(session, summarised)
  const totals = await selectReportTotals(session, query, known)
  const found = query.groupBy.length === 0 ? [] : await selectReportRows(session, query, known)
  const rows = found.slice(0, query.limit)
  const last = rows.at(-1)
  const next = found.length > rows.length && last !== undefined ? reportCursorBehind(last.end, query) : null
  const { interval, after } = query
  const series =
    interval === null || after !== null
      ? null
      : await readSeries(session, { ...query, interval }, known, { totals, rows, isAll: next === null })
  const costs = query.costs === true ? await readCosts(session, query, rows) : null
  return { kind: 'read', tag, report: { query, asOf, totals, rows, costs, series }, next }
}

async function readCosts(
  session: PostgresSession,
  { period, groupBy, filters }: ReportQuery,
  rows: readonly ReportRow[],
): Promise<NonNullable<Report['costs']>> {
  const contracts = await readContracts(session)
  const only = filtersOf({ filters })
  const whole = await selectCosts(session, { period, by: [], only }, contracts)
  const other = await selectOtherCosts(session, { period, groupBy, filters })
  const totals = { ...(whole.get('') ?? NO_COSTS), other: other?.totals ?? null }
  if (rows.length === 0) return { totals, rows: [] }
  const by = fieldsAmong(groupBy)
  const shown = { fields: by, ids: rows.map(({ end }) => end.ids) }
  const found = await selectCosts(session, { period, by, only: [...only, shown] }, contracts)
  return {
    totals,
    rows: rows.map(({ end }) => {
      const name = end.ids.join('\0')
      return {
        ...(found.get(name) ?? NO_COSTS),
        other: other === null ? null : (other.byGroup.get(name) ?? NO_OTHER),
      }
    }),
  }
}

/** Every group of a period, on each of its days, on one snapshot. */
export async function readDailySums(
  pool: Postgres,
  order: Omit<SeriesOrder, 'interval'>,
): Promise<readonly SeriesRow[]> {
  return await inSnapshot(pool, async (session) => {
    const known = await selectSummarised(session, order.period, 'whole')
    return await selectSeries(session, { ...order, interval: 'day' }, known, null)
  })
}

/** Raised with every change of the answer's form: an answer of another form has another tag. */
const FORM = 1

/** The days that are asked for and compared, together. */
function wholeOf({ period, before }: ReportQuery): Period {
  return { fromDay: before?.fromDay ?? period.fromDay, toDay: period.toDay }
}

/**
 * All that changes an answer, in a few look-ups: what was counted, what was counted late, corrections (each part of one
 * writes the row of its adjustment again, so that its `xmin` changes), prices that say what they leave out, names, and
 * refused calls.
 */
const STATE = `
select concat_ws(' ', ${ALL_COMMITTED},
    (select coalesce(sum(to_seq - from_seq + 1), 0) from ${SCHEMA}.ledger_gaps where filled_at is null),
    (select count(*) from ${SCHEMA}.dead_letters where resolved_at is null),
    (select concat(count(*), '-', sum(xmin::text::bigint)) from ${SCHEMA}.adjustments),
    (select count(*) from ${SCHEMA}.prices),
    (select concat(count(*), '-', sum(xmin::text::bigint)) from ${SCHEMA}.contracts),
    (select concat(count(*), '-', sum(xmin::text::bigint)) from ${SCHEMA}.charges),
    (select version from ${SCHEMA}.key_version),
    (select sum(calls) from ${SCHEMA}.refusals where day between $1 and $2),
    (select sum(calls) from ${SCHEMA}.refused_calls where day between $1 and $2)) as state,
  greatest((select max(moved_at) from ${SCHEMA}.producers),
    (select max(at) from ${SCHEMA}.adjustments)) as as_of`

async function selectState(session: PostgresSession, { period }: ReportQuery) {
  const { rows } = await session.query<{ state: string; as_of: Date | null }>(STATE, [
    period.fromDay,
    period.toDay,
  ])
  return { state: rows[0]?.state ?? '', asOf: rows[0]?.as_of ?? null }
}

interface ShownRows {
  readonly totals: ReportTotals
  readonly rows: readonly ReportRow[]
  /** Whether there are no other rows. */
  readonly isAll: boolean
}

async function readSeries(
  session: PostgresSession,
  query: ReportQuery & { readonly interval: Interval },
  known: Summarised,
  { totals, rows, isAll }: ShownRows,
): Promise<NonNullable<Report['series']>> {
  const starts = startsOf(query.period, query.interval)
  const top = rows.slice(0, query.top)
  // Groups of clients that are all shown are the whole: the rows of every client need not be read once more.
  const areWhole =
    isAll &&
    top.length === rows.length &&
    query.search === null &&
    query.groupBy.some(isClientGroup) &&
    axisAmong([...query.groupBy, ...query.filters.map(({ group }) => group)]) === null
  const found =
    top.length === 0
      ? []
      : await selectSeries(
          session,
          query,
          known,
          top.map(({ end }) => end.ids),
        )
  const whole = sumByStart(areWhole ? found : await selectWhole(session, query, known, totals))
  const byGroup = Map.groupBy(found, ({ ids }) => ids.join('\0'))
  const groups = top.map(({ names, end }) => {
    const own = at(byGroup.get(end.ids.join('\0')) ?? [])
    return { names, sums: starts.map((start) => own.get(start) ?? NOTHING) }
  })
  const other = starts.map((start, place) =>
    countsBy(REPORT_SUMS, (field) =>
      groups.reduce((left, { sums }) => left - (sums[place]?.[field] ?? 0n), whole.get(start)?.[field] ?? 0n),
    ),
  )
  return { starts, groups, other }
}

/**
 * The series of all. Days that are not summed up have far more rows than others: where they end the period and have one
 * place, what they add to it is what the others leave of the totals.
 */
async function selectWhole(
  session: PostgresSession,
  query: ReportQuery & { readonly interval: Interval },
  known: Summarised,
  { now }: ReportTotals,
): Promise<readonly SeriesRow[]> {
  const { period, interval } = query
  const order = { ...query, groupBy: [] }
  let toDay = period.toDay
  while (toDay >= period.fromDay && !known.days.has(toDay)) toDay = addDays(toDay, -1)
  const start = startOf(period.toDay, interval)
  const isOnePlace = startOf(addDays(toDay, 1), interval) === start
  if (toDay < period.fromDay || toDay === period.toDay || !isOnePlace || hasMadeRows(query, []))
    return await selectSeries(session, order, known, null)
  const before = await selectSeries(session, { ...order, period: { ...period, toDay } }, known, null)
  const rest = countsBy(REPORT_SUMS, (field) =>
    before.reduce((left, { sums }) => left - sums[field], now[field]),
  )
  return [...before, { ids: [], from: start, sums: rest }]
}

function sumByStart(rows: readonly SeriesRow[]): ReadonlyMap<UtcDay, ReportSums> {
  const sums = new Map<UtcDay, ReportSums>()
  for (const row of rows) {
    const before = sums.get(row.from) ?? NOTHING
    sums.set(
      row.from,
      countsBy(REPORT_SUMS, (field) => before[field] + row.sums[field]),
    )
  }
  return sums
}

const NOTHING: ReportSums = countsBy(REPORT_SUMS, () => 0n)

function at(
  rows: readonly { readonly from: UtcDay; readonly sums: ReportSums }[],
): ReadonlyMap<UtcDay, ReportSums> {
  return new Map(rows.map(({ from, sums }) => [from, sums]))
}

/** The first day of each day, week (from Monday) or month that a period touches. */
function startsOf({ fromDay, toDay }: Period, interval: Interval): readonly UtcDay[] {
  const starts: UtcDay[] = []
  for (let day = startOf(fromDay, interval); day <= toDay; day = nextOf(day, interval)) starts.push(day)
  return starts
}

function startOf(day: UtcDay, interval: Interval): UtcDay {
  if (interval === 'day') return day
  if (interval === 'month') return firstOfMonth(day)
  // Sunday is 0, and ends its week.
  return addDays(day, 1 - (new Date(`${day}T00:00:00Z`).getUTCDay() || 7))
}

function nextOf(day: UtcDay, interval: Interval): UtcDay {
  return interval === 'month' ? firstOfNextMonth(day) : addDays(day, interval === 'week' ? 7 : 1)
}
