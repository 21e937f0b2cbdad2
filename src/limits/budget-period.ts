import { addDays, type UtcDay } from '../domain/utc-day.ts'
import type { BudgetPeriod } from './limit.ts'

/** UTC days, both inclusive. A budget for all time has no last one. */
export interface PeriodDays {
  readonly fromDay: UtcDay
  readonly toDay: UtcDay | null
}

/** The period of a budget in which `day` lies. `since`: of a budget for all time, the first day that counts. */
export function budgetPeriodOf(per: BudgetPeriod, since: UtcDay | null, day: UtcDay): PeriodDays {
  switch (per) {
    case 'day':
      return { fromDay: day, toDay: day }
    case 'week': {
      // Sunday is 0, and a week begins on Monday.
      const weekday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
      const fromDay = addDays(day, -weekday)
      return { fromDay, toDay: addDays(fromDay, 6) }
    }
    case 'month': {
      const fromDay = `${day.slice(0, 7)}-01`
      const nextMonth = `${addDays(fromDay, 31).slice(0, 7)}-01`
      return { fromDay, toDay: addDays(nextMonth, -1) }
    }
    case 'total':
      return { fromDay: since ?? '1970-01-01', toDay: null }
  }
}
