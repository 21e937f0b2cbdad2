import { addDays, type UtcDay, utcDayOf } from './utc-day.ts'

export const DEFAULT_PERIOD_DAYS = 30
export const MAX_PERIOD_DAYS = 365

/** A number of UTC days, today's included, written plainly; `null`: it is not from 1 to 365. */
export function parsePeriodDays(text: string): number | null {
  return /^[1-9][0-9]{0,2}$/.test(text) && Number(text) <= MAX_PERIOD_DAYS ? Number(text) : null
}

/** UTC days that follow each other. */
export interface Period {
  /** The first and the last of them, both included. */
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
}

/** The `days` UTC days that end with the one on which `nowMs` lies. */
export function periodOf(days: number, nowMs: number): Period {
  const toDay = utcDayOf(nowMs)
  return { fromDay: addDays(toDay, 1 - days), toDay }
}

/** How many days a period has. */
export function daysIn({ fromDay, toDay }: Period): number {
  return Math.round((Date.parse(toDay) - Date.parse(fromDay)) / 86_400_000) + 1
}

const DAYS_BACK: Readonly<Record<string, readonly [first: number, last: number]>> = {
  today: [0, 0],
  yesterday: [-1, -1],
  '7d': [-6, 0],
  '30d': [-29, 0],
  '90d': [-89, 0],
}
const THIS_MONTH = 'month'
const LAST_MONTH = 'last_month'

/** The names of periods; `month` is the calendar month to date. */
export const PERIOD_NAMES: readonly string[] = [...Object.keys(DAYS_BACK), THIS_MONTH, LAST_MONTH]
/** A name of a period, or a calendar month. */
export const PERIOD_FORM = new RegExp(`^(?:${PERIOD_NAMES.join('|')}|20[0-9]{2}-(?:0[1-9]|1[0-2]))$`)

/** A period by its name, or a calendar month such as `2026-10`, as far as it has come; `null`: it is none, or is to come. */
export function parsePeriod(text: string, nowMs: number): Period | null {
  if (!PERIOD_FORM.test(text)) return null
  const today = utcDayOf(nowMs)
  const back = DAYS_BACK[text]
  if (back !== undefined) return { fromDay: addDays(today, back[0]), toDay: addDays(today, back[1]) }
  const thisMonth = firstOfMonth(today)
  const fromDay =
    text === THIS_MONTH
      ? thisMonth
      : text === LAST_MONTH
        ? firstOfMonth(addDays(thisMonth, -1))
        : `${text}-01`
  if (fromDay > today) return null
  const lastDay = lastOfMonth(fromDay)
  return { fromDay, toDay: lastDay < today ? lastDay : today }
}

/** As many days before a period. Before a calendar month, or as far as it has come, the same days of the one before. */
export function periodBefore({ fromDay, toDay }: Period, isMonth: boolean): Period {
  const days = daysIn({ fromDay, toDay })
  const dayBefore = addDays(fromDay, -1)
  if (!isMonth) return { fromDay: addDays(fromDay, -days), toDay: dayBefore }
  const first = firstOfMonth(dayBefore)
  const last = addDays(first, days - 1)
  return { fromDay: first, toDay: toDay === lastOfMonth(toDay) || last > dayBefore ? dayBefore : last }
}

/** Whether such a text means a calendar month. */
export function isMonthPeriod(text: string): boolean {
  return text === THIS_MONTH || text === LAST_MONTH || /^20/.test(text)
}

export function firstOfMonth(day: UtcDay): UtcDay {
  return `${day.slice(0, 7)}-01`
}

export function firstOfNextMonth(day: UtcDay): UtcDay {
  return firstOfMonth(addDays(firstOfMonth(day), 31))
}

function lastOfMonth(day: UtcDay): UtcDay {
  return addDays(firstOfNextMonth(day), -1)
}
