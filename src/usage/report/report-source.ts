import type { Period } from '../../domain/period.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import type { DimensionField } from '../dimensions.ts'
import { coverPeriod, NOTHING_SUMMARISED, type Summarised } from '../summaries/summarised.ts'
import {
  columnsOfFields,
  findSummaryTables,
  LATENCY_COLUMNS,
  LATENCY_TABLES,
  SUMMARY_COLUMNS,
  SUMMARY_TABLES,
  type SummaryColumn,
  type SummaryTables,
} from '../summaries/summary-tables.ts'

/** The parameters of a statement, each with its place and type. */
export class Values {
  readonly all: unknown[] = []

  add(value: unknown, type: string): string {
    this.all.push(value)
    return `$${this.all.length}::${type}`
  }
}

/** A condition on rows of totals: only those with one of these values, of each dimension in their order. */
export interface Only {
  readonly fields: readonly DimensionField[]
  readonly ids: readonly (readonly string[])[]
}

export interface SourceOrder {
  readonly by: readonly DimensionField[]
  /** Whether days are kept apart, too. A month that is read from its sum is its first day. */
  readonly keepsDay: boolean
  readonly only: readonly Only[]
  /** Rows of the second have `is_before`. */
  readonly periods: readonly [Period, Period?]
  readonly known: Summarised
}

/** Rows of totals in SQL, from months and days that are summed up, and else from `daily_usage`: each day once. */
export function usageSource(
  order: SourceOrder,
  values: Values,
  columns: readonly SummaryColumn[] = SUMMARY_COLUMNS,
): string {
  return unionOf(order, values, SUMMARY_TABLES, 'daily_usage', columns)
}

/** The same of histograms of latencies. */
export function latencySource(order: SourceOrder, values: Values): string {
  return unionOf(order, values, LATENCY_TABLES, 'daily_latency', LATENCY_COLUMNS)
}

function unionOf(
  { by, keepsDay, only, periods, known }: SourceOrder,
  values: Values,
  among: readonly SummaryTables[],
  summed: string,
  columns: readonly SummaryColumn<string>[],
): string {
  const tables = findSummaryTables([...by, ...only.flatMap(({ fields }) => fields)], among)
  const days = tables?.days ?? null
  const months = tables?.months ?? null
  const kept = [...columnsOfFields(by), ...(keepsDay ? ['day'] : [])]
  const conditions = only.map((one) => ` and ${conditionOf(one, values)}`).join('')
  const parts = periods.flatMap((period, index) => {
    if (period === undefined) return []
    const cover = coverPeriod(period, {
      days: days === null ? NOTHING_SUMMARISED.days : known.days,
      months: months === null ? NOTHING_SUMMARISED.months : known.months,
    })
    const part = (table: string, found: readonly string[], sums: readonly string[]) =>
      found.length === 0
        ? []
        : `select ${[...kept.map((column) => `u.${column}`), `${index === 1} as is_before`, ...sums].join(', ')}
           from ${SCHEMA}.${table} u where u.day = any(${values.add(found, 'date[]')})${conditions}`
    const stored = columns.map(({ column }) => `u.${column}`)
    const ofRows = columns.map(({ ofRow, column }) => `${ofRow} as ${column}`)
    return [
      ...(months === null ? [] : [part(months, cover.months, stored)]),
      ...(days === null ? [] : [part(days, cover.days, stored)]),
      part(summed, cover.rest, ofRows),
    ].flat()
  })
  return parts.join(' union all ')
}

/** All refused calls, in SQL. Gateways of the release before 0039 write `refused_calls`, which says less. */
export const ALL_REFUSALS = `(
  select day, client_id, key_id, model, limit_id, reason, calls from ${SCHEMA}.refusals
  union all select day, client_id, '', '', '', reason, calls from ${SCHEMA}.refused_calls)`

/** In SQL, of rows `u`. */
export function conditionOf({ fields, ids }: Only, values: Values): string {
  const columns = columnsOfFields(fields).map((column) => `u.${column}`)
  const lists = fields.map((_, place) =>
    values.add(
      ids.map((row) => row[place] ?? ''),
      'text[]',
    ),
  )
  if (columns.length === 1) return `${columns[0]} = any(${lists[0]})`
  // The first alone is what an index leads to.
  return `${columns[0]} = any(${lists[0]}) and (${columns.join(', ')}) in (select * from unnest(${lists.join(', ')}))`
}
