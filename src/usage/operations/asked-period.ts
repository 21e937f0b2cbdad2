import {
  DEFAULT_PERIOD_DAYS,
  daysIn,
  PERIOD_FORM,
  PERIOD_NAMES,
  type Period,
  parsePeriod,
} from '../../domain/period.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { dayField, formField } from '../../operations/fields.ts'
import { invalid } from '../../operations/refuse.ts'

const MOST_DAYS = 366
const PERIOD_RULE = `must be ${PERIOD_NAMES.join(', ')}, or a month that has begun, such as 2026-10`

/** The days that are asked for, as several operations have them. */
export const PERIOD_FIELDS = {
  from: dayField('The first UTC day.').optional(),
  to: dayField('The last UTC day. Without it: today.').optional(),
  period: formField(PERIOD_FORM, PERIOD_RULE, {
    description: `In place of days: ${PERIOD_NAMES.join(', ')}, or a calendar month such as 2026-10, in UTC. Without both: the last ${DEFAULT_PERIOD_DAYS} days.`,
  }).optional(),
}

/** How the command line has them: `--month 2026-10`. */
export const PERIOD_OPTIONS = { period: '--month, --period <period>' } as const

interface AskedPeriod {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly period?: string | undefined
}

/** Rules that need no clock. */
export function checkPeriod({ period, from, to }: AskedPeriod): void {
  if (period !== undefined && (from !== undefined || to !== undefined))
    throw invalid('period', 'stands in place of from and to')
  if (to !== undefined && from === undefined) throw invalid('to', 'needs from')
  if (from !== undefined && to !== undefined && from > to) throw invalid('to', 'must not be before from')
}

/** The days that are asked for; `null`: none are. */
export function periodAsked({ period, from, to }: AskedPeriod, nowMs: number): Period | null {
  if (period !== undefined) {
    const found = parsePeriod(period, nowMs)
    if (found === null) throw invalid('period', PERIOD_RULE)
    return found
  }
  if (from === undefined) return null
  const asked = { fromDay: from, toDay: to ?? utcDayOf(nowMs) }
  if (asked.fromDay > asked.toDay) throw invalid('from', 'must not be after today')
  if (daysIn(asked) > MOST_DAYS) throw invalid('from', `must be at most ${MOST_DAYS} days before the end`)
  return asked
}
