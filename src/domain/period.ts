import { addDays, type UtcDay, utcDayOf } from './utc-day.ts'

export const DEFAULT_PERIOD_DAYS = 30
export const MAX_PERIOD_DAYS = 365

/** A number of UTC days, today's included, written plainly; `null`: it is not from 1 to 365. */
export function parsePeriodDays(text: string): number | null {
  return /^[1-9][0-9]{0,2}$/.test(text) && Number(text) <= MAX_PERIOD_DAYS ? Number(text) : null
}

/** The first and the last of the `days` UTC days that end with the one on which `nowMs` lies. */
export function periodOf(days: number, nowMs: number): { readonly fromDay: UtcDay; readonly toDay: UtcDay } {
  const toDay = utcDayOf(nowMs)
  return { fromDay: addDays(toDay, 1 - days), toDay }
}

/** The day of its UTC month on which `nowMs` lies, from 1: so many days the month has had. */
export function dayOfMonth(nowMs: number): number {
  return new Date(nowMs).getUTCDate()
}
