import { DIMENSIONS, type DimensionField } from '../dimensions.ts'

/** Sums of whole days, and of whole months, kept apart by the same dimensions. */
export interface SummaryTables {
  /** Beside the day or the month. */
  readonly by: readonly DimensionField[]
  /** `null`: days are not summed up by these, as that would be `daily_usage` again. */
  readonly days: string | null
  readonly months: string
  /** The one of which this one's days are sums; `null`: `daily_usage`. Months are sums of days. */
  readonly from: SummaryTables | null
}

const BY_KEY: SummaryTables = {
  by: ['clientId', 'keyId'],
  days: 'usage_days_by_key',
  months: 'usage_months_by_key',
  from: null,
}
const BY_CLIENT: SummaryTables = {
  by: ['clientId'],
  days: 'usage_days_by_client',
  months: 'usage_months_by_client',
  from: BY_KEY,
}

/**
 * All of them, each behind the one that it is made from. An answer takes the first that has all that it is
 * grouped by: those with fewer rows stand before those with more.
 */
export const SUMMARY_TABLES: readonly SummaryTables[] = [
  { by: [], days: 'usage_days', months: 'usage_months', from: BY_CLIENT },
  {
    by: ['model', 'upstream', 'provider'],
    days: 'usage_days_by_model',
    months: 'usage_months_by_model',
    from: null,
  },
  BY_CLIENT,
  {
    by: ['clientId', 'model'],
    days: 'usage_days_by_client_model',
    months: 'usage_months_by_client_model',
    from: null,
  },
  BY_KEY,
  {
    by: ['clientId', 'keyId', 'model'],
    days: null,
    months: 'usage_months_by_key_model',
    from: null,
  },
]

/** Those in which what these dimensions tell apart is apart; `null`: there are none. */
export function findSummaryTables(fields: readonly DimensionField[]): SummaryTables | null {
  return SUMMARY_TABLES.find(({ by }) => fields.every((field) => by.includes(field))) ?? null
}

const COLUMN_OF = new Map<DimensionField, string>(DIMENSIONS.map(({ field, column }) => [field, column]))

/** The column of each of these dimensions. */
export function columnsOfFields(fields: readonly DimensionField[]): readonly string[] {
  return fields.flatMap((field) => COLUMN_OF.get(field) ?? [])
}
