import { LATENCY_BOUNDS_US } from '../../../src/domain/latency.ts'
import { picoToUsdText } from '../../../src/domain/pico-usd.ts'
import type { PostgresSession } from '../../../src/store/connection/postgres.ts'
import type { Report } from '../../../src/usage/report/read-report.ts'
import type { ReportGroup, ReportQuery } from '../../../src/usage/report/report-query.ts'
import type { ReportTotals } from '../../../src/usage/report/select-report.ts'

type Row = Readonly<Record<string, string | null>>

const COLUMN = { client: 'client_id', key: 'key_id', model: 'model', upstream: 'upstream' } as const

/** What a report says of a group, in numbers that can be compared. */
interface PlainFigures {
  readonly cost: string
  readonly counts: readonly bigint[]
  readonly before: string | null
  readonly refused: bigint | null
  /** Upper bounds of buckets: half of the calls, 95 in 100, and the same of first bytes. */
  readonly places: readonly (number | null)[]
}

/** The rows that reports are made of, in one snapshot, and no sum of any kind. */
export interface PlainRows {
  readonly usage: readonly Row[]
  readonly latency: readonly Row[]
  readonly refused: readonly Row[]
  /** The groups that a client was in on a day, the nearest first. */
  readonly chainOf: (clientId: string, day: string) => readonly string[]
}

export async function selectPlainRows(
  session: PostgresSession,
  chainOf: PlainRows['chainOf'] = () => [],
): Promise<PlainRows> {
  const all = async (text: string) => (await session.query<Row>(text)).rows
  return {
    usage: await all('select * from tallygate.daily_usage'),
    latency: await all(
      `select day, client_id, model, array_to_string(tallygate.latency_counts(buckets), ',') as buckets,
         array_to_string(tallygate.latency_counts(first_bytes), ',') as first from tallygate.daily_latency`,
    ),
    refused: await all('select * from tallygate.refusals'),
    chainOf,
  }
}

const COUNTS = [
  'requests',
  'errors',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'cache_write_tokens',
  'reasoning_tokens',
  'estimated',
  'latency_us_sum',
  'latency_count',
] as const

/** Axes have a test of their own. */
function columnOf(group: ReportGroup): string {
  return group in COLUMN ? COLUMN[group as keyof typeof COLUMN] : group
}

/** What a row has of a group: of clients, the one right below `within`, or the topmost one. */
function idIn({ chainOf }: PlainRows, row: Row, group: ReportGroup, within: string | undefined): string {
  if (group !== 'group') return row[columnOf(group)] ?? ''
  const chain = chainOf(row.client_id ?? '', row.day ?? '')
  const place = within === undefined ? chain.length : chain.indexOf(within)
  return chain[Math.max(0, place - 1)] ?? ''
}

/** The report that these rows make: its totals, and its groups by their ids. */
export function plainReport(rows: PlainRows, query: ReportQuery) {
  const { period, before, groupBy, filters } = query
  const within = ({ fromDay, toDay }: ReportQuery['period'], row: Row) =>
    fromDay <= (row.day ?? '') && (row.day ?? '') <= toDay
  const top = filters.find(({ group }) => group === 'group')?.ids[0]
  const isOfFilters = (row: Row) =>
    filters.every(({ group, ids }) =>
      group === 'group'
        ? rows.chainOf(row.client_id ?? '', row.day ?? '').includes(ids[0] ?? '')
        : ids.includes(row[columnOf(group)] ?? ''),
    )
  const filtered = {
    usage: rows.usage.filter(isOfFilters),
    latency: rows.latency.filter(isOfFilters),
    refused: rows.refused.filter(isOfFilters),
  }
  const groups = [...groupBy, ...filters.map(({ group }) => group)]
  const hasRefused = !groups.includes('upstream')
  const hasLatencies = groups.every((group) => ['client', 'model', 'group'].includes(group))
  const nameOf = (row: Row) => groupBy.map((group) => idIn(rows, row, group, top)).join('\0')
  const figures = (isOf: (row: Row) => boolean): PlainFigures => {
    const now = filtered.usage.filter((row) => within(period, row) && isOf(row))
    const then = filtered.usage.filter((row) => before !== null && within(before, row) && isOf(row))
    const latency = filtered.latency.filter((row) => within(period, row) && isOf(row))
    const refused = filtered.refused.filter((row) => within(period, row) && isOf(row))
    return {
      cost: picoToUsdText(costOf(now)),
      counts: [
        ...COUNTS.map((column) => sum(now, (row) => row[column])),
        sum(now, (row) => row.unpriced) - sum(now, (row) => row.priced_later),
      ],
      before: before === null ? null : picoToUsdText(costOf(then)),
      refused: hasRefused ? sum(refused, (row) => row.calls) : null,
      places: [
        ['buckets', 0.5],
        ['buckets', 0.95],
        ['first', 0.5],
        ['first', 0.95],
      ].map(([name, share]) => (hasLatencies ? placeOf(latency, `${name}`, Number(share)) : null)),
    }
  }
  const names = new Set(
    groupBy.length === 0
      ? []
      : [
          ...filtered.usage.filter((row) => within(period, row) || (before !== null && within(before, row))),
          ...(hasRefused ? filtered.refused.filter((row) => within(period, row)) : []),
        ].map(nameOf),
  )
  return {
    totals: figures(() => true),
    groups: new Map([...names].map((name) => [name, figures((row) => nameOf(row) === name)])),
    /** Of a day, in pico-USD and calls. */
    ofDay(day: string) {
      const of = filtered.usage.filter((row) => row.day === day)
      return { cost: costOf(of), requests: sum(of, (row) => row.requests) }
    },
  }
}

/** The same of a report that was read. */
export function figuresOf({ now, before, refused, places }: ReportTotals): PlainFigures {
  return {
    cost: picoToUsdText(now.costPico),
    counts: [
      now.requests,
      now.errors,
      now.inputTokens,
      now.outputTokens,
      now.cacheReadTokens,
      now.cacheWriteTokens,
      now.reasoningTokens,
      now.estimated,
      now.latencyUsSum,
      now.latencyCount,
      now.unpriced,
    ],
    before: before === null ? null : picoToUsdText(before.costPico),
    refused,
    places: [places.p50, places.p95, places.first_byte_p50, places.first_byte_p95],
  }
}

/** A row's ids as `plainReport` names its groups. */
export function nameOfRow({ end }: Report['rows'][number]): string {
  return end.ids.join('\0')
}

function sum(rows: readonly Row[], of: (row: Row) => string | null | undefined): bigint {
  return rows.reduce((all, row) => all + BigInt(of(row) ?? '0'), 0n)
}

function costOf(rows: readonly Row[]): bigint {
  return sum(rows, (row) => row.cost_pico) + sum(rows, (row) => row.adjusted_pico)
}

function placeOf(rows: readonly Row[], histogram: string, share: number): number | null {
  const counts = new Array<number>(LATENCY_BOUNDS_US.length + 1).fill(0)
  for (const row of rows)
    for (const [place, count] of (row[histogram] ?? '').split(',').entries())
      counts[place] = (counts[place] ?? 0) + Number(count)
  const all = counts.reduce((left, right) => left + right, 0)
  let within = 0
  for (const [place, count] of counts.entries()) {
    within += count
    if (all > 0 && within >= share * all) return place
  }
  return null
}
