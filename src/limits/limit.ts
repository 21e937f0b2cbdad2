import { addDays, type UtcDay } from '../domain/utc-day.ts'

/** `budget` in money; the others a minute (`requests`, `tokens`) or at once (`concurrent`). */
export const LIMIT_KINDS = ['budget', 'requests', 'tokens', 'concurrent'] as const

export type LimitKind = (typeof LIMIT_KINDS)[number]

/** What a budget is for: a UTC day, a week from Monday, a calendar month, or all time since it was set (prepaid). */
export const BUDGET_PERIODS = ['day', 'week', 'month', 'total'] as const

export type BudgetPeriod = (typeof BUDGET_PERIODS)[number]

/**
 * What a gateway that cannot ask the others does with calls that its share has no room for: it refuses them, or takes
 * its even part of what was left when it last knew.
 */
export const WHEN_ALONE = ['refuse', 'share'] as const

export type WhenAlone = (typeof WHEN_ALONE)[number]

/** A higher amount for a while. */
export interface Raise {
  readonly amount: bigint
  /** Milliseconds since 1970, exclusive. */
  readonly untilMs: number
}

/** One limit, as Postgres has it. Of all that hold for a call, the strictest decides. */
export interface Limit {
  /** Never used again, and another one after a change of what it limits. */
  readonly id: string
  /** `null`: the default of every client that has none of its own of this kind (and period), or of a group. */
  readonly clientId: string | null
  /** All clients of this group together. */
  readonly groupId: string | null
  /** Calls with one value of this axis: each value apart. */
  readonly axis: string | null
  /** Only this value of the axis; `null`: each that has none of its own of this kind (and period). */
  readonly value: string | null
  /** Only calls with this key. */
  readonly keyId: string | null
  /** Keys that were rotated into that one, one after the other: their calls count as its own. */
  readonly formerKeys: readonly string[]
  /** Only calls of this model: a name or `prefix*`. */
  readonly model: string | null
  readonly kind: LimitKind
  /** Integer pico-USD of a budget; else requests a minute, tokens a minute, calls at once. */
  readonly amount: bigint
  readonly raise: Raise | null
  /** Of a budget; else `null`. */
  readonly per: BudgetPeriod | null
  /** A budget that is only watched: it alerts and refuses nothing. */
  readonly isSoft: boolean
  /** Of a budget for all time: the first UTC day that counts. */
  readonly since: UtcDay | null
  /** Of tokens a minute: whether cached prompt tokens count. */
  readonly countsCached: boolean
  /** Of a hard budget: calls whose model has no price may pass. */
  readonly allowsUnpriced: boolean
  /** Of a hard budget. */
  readonly whenAlone: WhenAlone
}

/** Whether calls with this key count. */
export function isOfKey({ keyId, formerKeys }: Limit, key: string): boolean {
  return keyId === null || keyId === key || formerKeys.includes(key)
}

/** The amount that holds now. */
export function amountAt({ amount, raise }: Limit, nowMs: number): bigint {
  return raise !== null && nowMs < raise.untilMs && raise.amount > amount ? raise.amount : amount
}

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
