import fc from 'fast-check'
import { expect } from 'vitest'
import { periodBefore } from '../../../src/domain/period.ts'
import { addDays } from '../../../src/domain/utc-day.ts'
import type { PostgresSession } from '../../../src/store/connection/postgres.ts'
import { type Report, readReportOn } from '../../../src/usage/report/read-report.ts'
import {
  hasLatencies,
  hasRefused,
  INTERVALS,
  PERCENTILE_NAMES,
  REPORT_GROUPS,
  REPORT_SORTS,
  type ReportQuery,
} from '../../../src/usage/report/report-query.ts'
import type { ReportTotals } from '../../../src/usage/report/select-report.ts'
import { client, day } from '../summaries/random-usage.ts'
import { figuresOf, nameOfRow, type PlainRows, plainReport, selectPlainRows } from './plain-report.ts'

const IDS = {
  client,
  key: fc.constantFrom('key_cli_a_1', 'key_cli_b_2', 'key_none'),
  model: fc.constantFrom('gpt-4o', 'claude', 'none'),
  upstream: fc.constantFrom('openai', 'other'),
}

/**
 * A report over some of the days of `random-usage.ts`.
 *
 * @param groupIds Groups of clients.
 */
export const reportQuery = (groupIds: readonly string[] = ['grp_none']): fc.Arbitrary<ReportQuery> =>
  fc
    .record({
      one: day,
      other: day,
      isCompared: fc.boolean(),
      groupBy: fc.uniqueArray(fc.constantFrom(...REPORT_GROUPS), { maxLength: 2 }),
      filters: fc.uniqueArray(
        fc
          .constantFrom(...REPORT_GROUPS)
          .chain((group) => idsOf(group, groupIds).map((id) => ({ group, ids: [id] }))),
        { maxLength: 2, selector: ({ group }) => group },
      ),
      interval: fc.constantFrom(null, ...INTERVALS),
      top: fc.integer({ min: 1, max: 4 }),
      sort: fc.constantFrom(...REPORT_SORTS),
      order: fc.constantFrom('desc' as const, 'asc' as const),
      limit: fc.constantFrom(1, 2, 5, 100),
    })
    .map(({ one, other, isCompared, sort, ...rest }) => {
      const period = one < other ? { fromDay: one, toDay: other } : { fromDay: other, toDay: one }
      const isKept =
        (sort !== 'change' || isCompared) &&
        (sort !== 'refused' || hasRefused(rest)) &&
        (!PERCENTILE_NAMES.some((name) => name === sort) || hasLatencies(rest))
      return {
        ...rest,
        period,
        before: isCompared ? periodBefore(period, false) : null,
        sort: isKept ? sort : 'cost',
        search: null,
        after: null,
      }
    })

function idsOf(group: (typeof REPORT_GROUPS)[number], groupIds: readonly string[]) {
  return group === 'group' ? fc.constantFrom(...groupIds) : IDS[group]
}

const NONE = () => false

/**
 * Reads a report, and holds it against the rows that it is made of, both in one snapshot.
 *
 * @param plainRows Where they are known already.
 */
export async function expectExactOn(
  session: PostgresSession,
  query: ReportQuery,
  plainRows?: PlainRows,
): Promise<Report> {
  const read = await readReportOn(session, query, NONE)
  if (read.kind !== 'read') throw new Error('nothing is held')
  const { totals, rows, series } = read.report
  const { period, before } = query
  const days = { fromDay: before?.fromDay ?? period.fromDay, toDay: period.toDay }
  const plain = plainReport(plainRows ?? (await selectPlainRows(session, undefined, days)), query)
  const asked = JSON.stringify(query)
  expect(figuresOf(totals), asked).toEqual(plain.totals)
  for (const row of rows) expect(figuresOf(row), asked).toEqual(plain.groups.get(nameOfRow(row)))
  expect(rows.length, asked).toBe(Math.min(query.limit, plain.groups.size))
  expect(read.next === null, asked).toBe(plain.groups.size <= query.limit)
  expectOrder(rows, query)
  if (series !== null) {
    const places = [...series.groups.map(({ sums }) => sums), series.other]
    const summed = series.starts.map((_, place) => ({
      cost: places.reduce((sum, one) => sum + (one[place]?.costPico ?? 0n), 0n),
      requests: places.reduce((sum, one) => sum + (one[place]?.requests ?? 0n), 0n),
    }))
    if (query.interval === 'day')
      expect(summed, asked).toEqual(series.starts.map((start) => plain.ofDay(start)))
    expect(
      summed.reduce((sum, { cost }) => sum + cost, 0n),
      asked,
    ).toBe(totals.now.costPico)
    for (const [index, { sums }] of series.groups.entries())
      expect(
        sums.reduce((sum, { costPico }) => sum + costPico, 0n),
        asked,
      ).toBe(rows[index]?.now.costPico)
    expect(series.starts.length).toBeGreaterThan(0)
    expect(series.starts.every((start) => start <= addDays(query.period.toDay, 0))).toBe(true)
  }
  return read.report
}

/** What is not known comes last in both orders. */
function expectOrder(rows: Report['rows'], { sort, order }: ReportQuery): void {
  for (const [index, row] of rows.entries()) {
    const next = rows[index + 1]
    if (next === undefined) return
    const [value, following] = [sortValue(row, sort), sortValue(next, sort)]
    if (value === null) expect(following).toBeNull()
    else if (following === value) expect(nameOfRow(row)).not.toBe(nameOfRow(next))
    else if (following !== null) expect(order === 'desc' ? value > following : value < following).toBe(true)
  }
}

function sortValue(
  { now, before, refused, places }: ReportTotals,
  sort: ReportQuery['sort'],
): number | bigint | null {
  switch (sort) {
    case 'cost':
      return now.costPico
    case 'change':
      return now.costPico - (before?.costPico ?? 0n)
    case 'error_rate':
      return now.requests === 0n ? null : Number(now.errors) / Number(now.requests)
    case 'avg_latency':
      return now.latencyCount === 0n ? null : Number(now.latencyUsSum) / Number(now.latencyCount)
    case 'refused':
      return refused
    case 'total_tokens':
      return now.inputTokens + now.outputTokens
    case 'input_tokens':
      return now.inputTokens
    case 'output_tokens':
      return now.outputTokens
    case 'cache_read_tokens':
      return now.cacheReadTokens
    case 'cache_write_tokens':
      return now.cacheWriteTokens
    case 'reasoning_tokens':
      return now.reasoningTokens
    case 'request_bytes':
      return now.requestBytes
    case 'answer_bytes':
      return now.answerBytes
    case 'p50':
    case 'p95':
    case 'first_byte_p50':
    case 'first_byte_p95':
      return places[sort]
    case 'requests':
    case 'errors':
    case 'unpriced':
    case 'estimated':
      return now[sort]
    default:
      return sort satisfies never
  }
}
