import { CORRECTED, NO_VALUE } from '../../call/axes.ts'
import type { Period } from '../../domain/period.ts'
import { SCHEMA } from '../../store/connection/schema.ts'
import { CORRECTIONS, METRICS } from '../metrics-table.ts'
import { columnsOfFields, type SummaryColumn } from '../summaries/summary-tables.ts'
import { VALUE_COLUMN } from './report-query.ts'
import { conditionOf, type SourceOrder, usageSource, type Values } from './report-source.ts'

/** The axis that a report is about. */
export interface AxisOrder {
  readonly name: string
  /** Whether its values are kept apart. */
  readonly isKept: boolean
  /** Only what has one of these values; `null`: all. */
  readonly only: readonly string[] | null
}

const NUMBERS = [...METRICS, ...CORRECTIONS].map(({ column }) => column)

/**
 * Rows of totals by the values of an axis, in SQL, which add up to those of `usageSource` whatever stands in them. What
 * no value has is that of calls without one, `(none)`: it is all there is, less what values have. What corrections added
 * to the whole and to no value is taken from there, too: `(corrected)`.
 */
export function axisSource(
  order: SourceOrder,
  { name, isKept, only: values }: AxisOrder,
  parameters: Values,
  columns: readonly SummaryColumn[],
): string {
  const { by, keepsDay, only, periods } = order
  const kept = [...columnsOfFields(by), ...(keepsDay ? ['day'] : [])]
  const conditions = only.map((one) => ` and ${conditionOf(one, parameters)}`).join('')
  const axis = parameters.add(name, 'text')
  const rowsOf = (
    source: string,
    value: string,
    sign: '' | '-',
    isBefore: boolean,
    { fromDay, toDay }: Period,
  ) =>
    `select ${[
      ...kept.map((column) => `u.${column}`),
      `${value} as ${VALUE_COLUMN}`,
      `${isBefore} as is_before`,
      ...columns.map(({ ofRow, column }) => `${sign}(${ofRow}) as ${column}`),
    ].join(', ')} from (${source}) u
     where u.day between ${parameters.add(fromDay, 'date')} and ${parameters.add(toDay, 'date')}${conditions}`
  const parts = periods.flatMap((period, index) => {
    if (period === undefined) return []
    const isBefore = index === 1
    return [
      rowsOf(ofValues(axis), 'u.value', '', isBefore, period),
      rowsOf(ofValues(axis), `'${NO_VALUE}'`, '-', isBefore, period),
      rowsOf(ofCorrections(axis), `'${CORRECTED}'`, '', isBefore, period),
      rowsOf(ofCorrections(axis), `'${NO_VALUE}'`, '-', isBefore, period),
    ]
  })
  const whole = `select ${[
    ...kept.map((column) => `u.${column}`),
    `'${NO_VALUE}' as ${VALUE_COLUMN}`,
    'u.is_before',
    ...columns.map(({ column }) => `u.${column}`),
  ].join(', ')} from (${usageSource(order, parameters, columns)}) u`
  const all = [whole, ...parts].join(' union all ')
  const among = values === null ? '' : ` where u.${VALUE_COLUMN} = any(${parameters.add(values, 'text[]')})`
  const shown = [
    ...kept,
    ...(isKept ? [VALUE_COLUMN] : []),
    'is_before',
    ...columns.map(({ column }) => column),
  ]
  return `select ${shown.map((column) => `u.${column}`).join(', ')} from (${all}) u${among}`
}

/** What each value has, with the columns of `daily_usage`. Values of an axis without totals are counted in single calls. */
function ofValues(axis: string): string {
  const numbers = NUMBERS.map((column) => `coalesce(u.${column}, 0) as ${column}`)
  const recounts = [
    ...METRICS.map(({ column, recount }) => `${recount} as ${column}`),
    ...CORRECTIONS.map(({ column }) => `0 as ${column}`),
  ]
  return `
    select u.day, a.client_id, v.value, ${numbers.join(', ')}
    from ${SCHEMA}.axes a join ${SCHEMA}.axis_usage u on u.axis_id = a.id
    join ${SCHEMA}.axis_values v on v.id = u.value_id where a.name = ${axis}
    union all
    select c.day, c.client_id, substr(line, length(${axis}) + 3) as value, ${recounts.join(', ')}
    from (
      select *, case when not web_socket then (latency_ms * 1000)::bigint end as latency_us
      from ${SCHEMA}.calls where axes is not null) c
    cross join lateral string_to_table(c.axes, chr(10)) line
    where not exists (select from ${SCHEMA}.axes where name = ${axis}) and starts_with(line, '-' || ${axis} || '=')
    group by 1, 2, 3`
}

/** What adjustments added to a client's day and to no value. */
function ofCorrections(axis: string): string {
  const moved: Readonly<Record<string, string>> = { adjusted_pico: 'e.pico', priced_later: 'e.priced_calls' }
  const numbers = NUMBERS.map((column) => `${moved[column] ?? '0'} as ${column}`)
  return `
    select e.day, e.client_id, ${numbers.join(', ')} from (
      select day, client_id, sum(pico) as pico, sum(priced_calls) as priced_calls from (
        select day, client_id, pico, priced_calls from ${SCHEMA}.adjustment_entries
        union all
        select p.day, a.client_id, -p.pico, -p.priced_calls from ${SCHEMA}.axis_entries p
        join ${SCHEMA}.axes a on a.id = p.axis_id and a.name = ${axis}) e
      group by day, client_id) e`
}

/**
 * Rows as of `daily_usage` by the values of an axis, in SQL: `day`, `client_id`, `axis_value`, and all figures. They add
 * up to those of `daily_usage`.
 *
 * @param axis Its name, as a parameter.
 */
export function rowsByValue(axis: string): string {
  const rowsOf = (source: string, value: string, sign: '' | '-') =>
    `select u.day, u.client_id, ${value} as ${VALUE_COLUMN}, ${NUMBERS.map((column) => `${sign}u.${column} as ${column}`).join(', ')}
     from (${source}) u`
  const whole = `select * from ${SCHEMA}.daily_usage`
  const parts = [
    rowsOf(whole, `'${NO_VALUE}'`, ''),
    rowsOf(ofValues(axis), 'u.value', ''),
    rowsOf(ofValues(axis), `'${NO_VALUE}'`, '-'),
    rowsOf(ofCorrections(axis), `'${CORRECTED}'`, ''),
    rowsOf(ofCorrections(axis), `'${NO_VALUE}'`, '-'),
  ]
  return `
    select day, client_id, ${VALUE_COLUMN}, ${NUMBERS.map((column) => `coalesce(sum(${column}), 0) as ${column}`).join(', ')}
    from (${parts.join(' union all ')}) u group by day, client_id, ${VALUE_COLUMN}
    having ${NUMBERS.map((column) => `sum(${column}) <> 0`).join(' or ')}`
}
