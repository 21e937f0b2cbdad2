import { SUMMARY_COLUMNS } from '../../usage/summaries/summary-tables.ts'

/** What a row `u` of `daily_usage` adds to the cost that `GET /v1/usage` shows, and the column of its sums. */
const COST = SUMMARY_COLUMNS.filter(({ field }) => field === 'costPico')
export const COST_OF_ROW = COST.map(({ ofRow }) => ofRow).join()
export const COST_COLUMN = COST.map(({ column }) => column).join()
