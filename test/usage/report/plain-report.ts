import { LATENCY_BOUNDS_US } from '../../../src/domain/latency.ts'
import type { Period } from '../../../src/domain/period.ts'
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
const USAGE = [
  ...['day', ...Object.values(COLUMN), ...COUNTS],
  ...['unpriced', 'priced_later', 'cost_pico', 'adjusted_pico'],
]

/** @param days Absent: all that there are. */
export async function selectPlainRows(
  session: PostgresSession,
  chainOf: PlainRows['chainOf'] = () => [],
  days?: Period,
): Promise<PlainRows> {
  const all = async (text: string) =>
    (
      await session.query<Row>(`${text} where day between $1 and $2`, [
        days?.fromDay ?? '-infinity',
        days?.toDay ?? 'infinity',
      ])
    ).rows
  return {
    usage: await all(`select ${USAGE.join(', ')} from tallygate.daily_usage`),
    latency: await all(
      `select day, client_id, model, array_to_string(tallygate.latency_counts(buckets), ',') as buckets,
         array_to_string(tallygate.latency_counts(first_bytes), ',') as first from tallygate.daily_latency`,
    ),
    refused: await all('select * from tallygate.refusals'),
    chainOf,
  }
}

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

/** What rows of a group, or all of them, add up to so far. */
class PlainSums {
  costPico = 0n
  beforePico = 0n
  readonly counts = [...COUNTS.map(() => 0n), 0n]
  refused = 0n
  readonly buckets = new Array<number>(LATENCY_BOUNDS_US.length + 1).fill(0)
  readonly first = new Array<number>(LATENCY_BOUNDS_US.length + 1).fill(0)

  add(row: Row): void {
    this.costPico += costOf(row)
    for (const [place, column] of COUNTS.entries()) this.#count(place, numberOf(row[column]))
    this.#count(COUNTS.length, numberOf(row.unpriced) - numberOf(row.priced_later))
  }

  addTimes(row: Row): void {
    for (const [sums, counts] of [
      [this.buckets, row.buckets],
      [this.first, row.first],
    ] as const)
      for (const [place, count] of (counts ?? '').split(',').entries())
        sums[place] = (sums[place] ?? 0) + Number(count)
  }

  #count(place: number, more: bigint): void {
    this.counts[place] = (this.counts[place] ?? 0n) + more
  }
}

/** The report that these rows make: its totals, and its groups by their ids. */
export function plainReport(rows: PlainRows, query: ReportQuery) {
  const { period, before, groupBy, filters } = query
  const within = ({ fromDay, toDay }: Period, { day }: Row) => fromDay <= (day ?? '') && (day ?? '') <= toDay
  const top = filters.find(({ group }) => group === 'group')?.ids[0]
  const isOfFilters = (row: Row) =>
    filters.every(({ group, ids }) =>
      group === 'group'
        ? rows.chainOf(row.client_id ?? '', row.day ?? '').includes(ids[0] ?? '')
        : ids.includes(row[columnOf(group)] ?? ''),
    )
  const groups = [...groupBy, ...filters.map(({ group }) => group)]
  const hasRefused = !groups.includes('upstream')
  const hasLatencies = groups.every((group) => ['client', 'model', 'group'].includes(group))
  const nameOf = (row: Row) => groupBy.map((group) => idIn(rows, row, group, top)).join('\0')
  const all = new PlainSums()
  const byName = new Map<string, PlainSums>()
  const byDay = new Map<string, { cost: bigint; requests: bigint }>()
  const sumsOf = (row: Row): readonly PlainSums[] => {
    if (groupBy.length === 0) return [all]
    const name = nameOf(row)
    const own = byName.get(name) ?? new PlainSums()
    byName.set(name, own)
    return [all, own]
  }
  for (const row of rows.usage.filter(isOfFilters)) {
    const day = byDay.get(row.day ?? '') ?? { cost: 0n, requests: 0n }
    byDay.set(row.day ?? '', {
      cost: day.cost + costOf(row),
      requests: day.requests + numberOf(row.requests),
    })
    if (within(period, row)) for (const sums of sumsOf(row)) sums.add(row)
    else if (before !== null && within(before, row))
      for (const sums of sumsOf(row)) sums.beforePico += costOf(row)
  }
  if (hasRefused)
    for (const row of rows.refused.filter(isOfFilters))
      if (within(period, row)) for (const sums of sumsOf(row)) sums.refused += numberOf(row.calls)
  for (const row of hasLatencies ? rows.latency.filter(isOfFilters) : [])
    if (within(period, row)) {
      all.addTimes(row)
      byName.get(nameOf(row))?.addTimes(row)
    }
  const figures = ({ costPico, counts, beforePico, refused, buckets, first }: PlainSums): PlainFigures => ({
    cost: picoToUsdText(costPico),
    counts,
    before: before === null ? null : picoToUsdText(beforePico),
    refused: hasRefused ? refused : null,
    places: [placeOf(buckets, 0.5), placeOf(buckets, 0.95), placeOf(first, 0.5), placeOf(first, 0.95)],
  })
  return {
    totals: figures(all),
    groups: new Map([...byName].map(([name, sums]) => [name, figures(sums)])),
    /** Of a day, in pico-USD and calls. */
    ofDay: (day: string) => byDay.get(day) ?? { cost: 0n, requests: 0n },
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

function numberOf(text: string | null | undefined): bigint {
  return BigInt(text ?? '0')
}

function costOf(row: Row): bigint {
  return numberOf(row.cost_pico) + numberOf(row.adjusted_pico)
}

/** `null`: no call has such a time, or they are not kept so. */
function placeOf(counts: readonly number[], share: number): number | null {
  const all = counts.reduce((left, right) => left + right, 0)
  let within = 0
  for (const [place, count] of counts.entries()) {
    within += count
    if (all > 0 && within >= share * all) return place
  }
  return null
}
