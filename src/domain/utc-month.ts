import { addDays, type UtcDay } from './utc-day.ts'

/** A calendar month in UTC, written YYYY-MM. */
export type UtcMonth = string

/** A calendar month that exists: Postgres has no year 0, and the month behind the last has no such form. */
export const MONTH_FORM = /^(?!0000|9999-12)[0-9]{4}-(?:0[1-9]|1[0-2])$/

export function isMonth(text: string): boolean {
  return MONTH_FORM.test(text)
}

export function nextMonthOf(month: UtcMonth): UtcMonth {
  return addDays(`${month}-28`, 4).slice(0, 7)
}

/** Its first and its last day. */
export function daysOfMonth(month: UtcMonth): { readonly from: UtcDay; readonly to: UtcDay } {
  return { from: `${month}-01`, to: addDays(`${nextMonthOf(month)}-01`, -1) }
}
