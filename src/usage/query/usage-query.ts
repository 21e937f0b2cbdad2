import {
  DEFAULT_PERIOD_DAYS,
  daysIn,
  MAX_PERIOD_DAYS,
  PERIOD_NAMES,
  parsePeriod,
  parsePeriodDays,
  periodOf,
} from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { aliasesOf } from '../../operations/read-input.ts'
import { GROUP_DIMENSIONS, type UsageGroup } from '../dimensions.ts'
import type { UsagePage } from './usage-page.ts'

/** What usage can be grouped by, in the order in which messages and answers name it. */
export const USAGE_GROUPS: readonly UsageGroup[] = GROUP_DIMENSIONS.map(({ group }) => group.name)

/** The same for clients, who see themselves alone. */
export const CLIENT_GROUPS: readonly UsageGroup[] = GROUP_DIMENSIONS.flatMap(({ group }) =>
  group.isClient === true ? [] : [group.name],
)

/** A query of usage, checked. */
export interface UsageQuery {
  /** `null`: all clients together. */
  readonly client: { readonly id: string; readonly name: string } | null
  /** How many UTC days. */
  readonly days: number
  /** The first and the last of them. */
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
  /** Each once. Empty: one summary of everything. */
  readonly groupBy: readonly UsageGroup[]
  /** Absent: all groups. */
  readonly page?: UsagePage
}

const PERIOD = 'period'
/** The parameter that names groups, and the names that it goes by besides. */
const GROUPS = 'group_by'
const GROUPS_ALIASES = aliasesOf(GROUPS)
/** The parameter that adds more than usage to an answer, and its only value. */
const INCLUDE = 'include'
const LIMITS = 'limits'

const GROUPS_RULE = `must name ${CLIENT_GROUPS.join(', ')}, or several of them with commas between, each once`

/** What was asked, or the parameter that is wrong and why. */
export type ParsedQuery =
  | {
      readonly kind: 'query'
      readonly query: Omit<UsageQuery, 'client'>
      /** Limits are asked for, too. */
      readonly includesLimits?: true
    }
  | { readonly kind: 'problem'; readonly param: string; readonly message: string }

/**
 * Reads a query of usage.
 *
 * @param search What stands behind `?`.
 */
export function parseUsageQuery(search: string, nowMs: number): ParsedQuery {
  const query = new URLSearchParams(search)
  // A misspelt `days` that was ignored would answer for another period than was asked for.
  const known = ['days', GROUPS, ...GROUPS_ALIASES, PERIOD, INCLUDE]
  const unknown = [...query.keys()].find((name) => !known.includes(name))
  if (unknown !== undefined) return problem(unknown, `There is no parameter ${unknown}.`)

  const [askedPeriod, ...morePeriods] = query.getAll(PERIOD)
  const period = askedPeriod === undefined ? undefined : parsePeriod(askedPeriod, nowMs)
  if (period === null || morePeriods.length > 0 || (period !== undefined && query.has('days'))) {
    return problem(
      PERIOD,
      `${PERIOD} must be ${PERIOD_NAMES.join(', ')} or a month that has begun, such as 2026-10, once, in place of days.`,
    )
  }
  const [askedDays = String(DEFAULT_PERIOD_DAYS), ...moreDays] = query.getAll('days')
  const days = parsePeriodDays(askedDays)
  if (days === null || moreDays.length > 0) {
    return problem('days', `days must be one integer from 1 to ${MAX_PERIOD_DAYS}.`)
  }
  const alias = GROUPS_ALIASES.find((name) => query.has(name))
  if (alias !== undefined && query.has(GROUPS))
    return problem(alias, `${alias} is another name of ${GROUPS}, so give one of them.`)
  const groupParameter = alias ?? GROUPS
  const [askedGroups, ...moreGroups] = query.getAll(groupParameter)
  const groupBy = askedGroups === undefined ? [] : parseGroups(askedGroups)
  if (groupBy === null || moreGroups.length > 0) {
    return problem(groupParameter, `${groupParameter} ${GROUPS_RULE}.`)
  }
  const { fromDay, toDay } = period ?? periodOf(days, nowMs)
  const asked = { days: daysIn({ fromDay, toDay }), fromDay, toDay, groupBy }
  const [included, ...moreIncluded] = query.getAll(INCLUDE)
  if (moreIncluded.length > 0 || (included !== undefined && included !== LIMITS)) {
    return problem(INCLUDE, `${INCLUDE} must be ${LIMITS}, once.`)
  }
  const parsed = { kind: 'query', query: asked } as const
  return included === undefined ? parsed : { ...parsed, includesLimits: true }
}

type Problem = Extract<ParsedQuery, { readonly kind: 'problem' }>

function problem(param: string, message: string): Problem {
  return { kind: 'problem', param, message }
}

/** Names with commas between, each once, in the order of answers; `null`: one is not a client's group. */
function parseGroups(text: string): readonly UsageGroup[] | null {
  const names = text.split(',')
  const groups = CLIENT_GROUPS.filter((group) => names.includes(group))
  return groups.length === names.length ? groups : null
}
