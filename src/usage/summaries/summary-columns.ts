import { SCHEMA } from '../../store/connection/schema.ts'
import { correctedIn, METRICS } from '../metrics-table.ts'
import { RELIABILITY_FIELDS, SUMMARY_FIELDS, type UNPRICED_FIELDS } from '../query/usage-figures.ts'

/** A sum that answers about usage show. */
export interface SummaryColumn {
  /** In code. */
  readonly field: SummaryField
  /** In the tables of summaries. */
  readonly column: string
  /** What a row `u` of `daily_usage` adds to it, in SQL. */
  readonly ofRow: string
  /** Stored as `null` where it is 0, as most are. */
  readonly isRare: boolean
}

export type SummaryField =
  | (typeof SUMMARY_FIELDS)[number]
  | (typeof RELIABILITY_FIELDS)[number]
  | (typeof UNPRICED_FIELDS)[number]
  | 'unpricedLeft'

/**
 * Rows that still have calls without a cost. Which tokens of a row have no price is unknown once a repricing
 * has priced a part of its calls.
 */
export const LEFT_UNPRICED = 'u.unpriced > coalesce(u.priced_later, 0)'

function metered(
  fields: readonly ((typeof SUMMARY_FIELDS)[number] | (typeof RELIABILITY_FIELDS)[number])[],
  isRare: boolean,
): readonly SummaryColumn[] {
  return fields.flatMap((field) =>
    METRICS.filter((metric) => metric.field === field).map((metric) => ({
      field,
      column: metric.column,
      ofRow: correctedIn('u', metric),
      isRare,
    })),
  )
}

function whereUnpriced(field: SummaryField, column: string, ofRow: string): SummaryColumn {
  return { field, column, ofRow: `case when ${LEFT_UNPRICED} then ${ofRow} end`, isRare: true }
}

/** All of them, in the order of the tables. */
export const SUMMARY_COLUMNS: readonly SummaryColumn[] = [
  ...metered(SUMMARY_FIELDS, false),
  ...metered(RELIABILITY_FIELDS, true),
  whereUnpriced('unpricedLeft', 'unpriced_left', 'u.unpriced - coalesce(u.priced_later, 0)'),
  whereUnpriced('unpricedInputTokens', 'unpriced_input_tokens', 'u.input_tokens'),
  whereUnpriced('unpricedOutputTokens', 'unpriced_output_tokens', 'u.output_tokens'),
  {
    field: 'partlyUnpriced',
    column: 'partly_unpriced',
    // Prices that leave something out say what.
    ofRow: `case when u.price_id in (select price_id from ${SCHEMA}.prices where definition ? 'unpriced')
      then u.requests + coalesce(u.settlements, 0) end`,
    isRare: true,
  },
]
