import { PAGE_LIMIT_RULE, parsePageLimit } from '../../domain/documents/page-limit.ts'
import {
  DEFAULT_PERIOD_DAYS,
  dayOfMonth,
  MAX_PERIOD_DAYS,
  parsePeriodDays,
  periodOf,
} from '../../domain/period.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { aliasesOf } from '../../operations/read-input.ts'
import { GROUP_DIMENSIONS, type UsageGroup } from '../dimensions.ts'
import { isUsageSort, parseUsageCursor, USAGE_SORTS, type UsagePage } from './usage-page.ts'

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
  /** UTC days, the last of them today. */
  readonly days: number
  /** The first and the last of them. */
  readonly fromDay: UtcDay
  readonly toDay: UtcDay
  /** Each once. Empty: one summary of everything. */
  readonly groupBy: readonly UsageGroup[]
  /** Absent: all groups. */
  readonly page?: UsagePage
}

/** How a listener has its queries of usage written. */
export interface QueryForm {
  readonly parseGroups: (text: string) => readonly UsageGroup[] | null
  /** What stands in the error of groups that cannot be read, after the parameter. */
  readonly groupsMessage: string
  /** Whether a parameter `client` may name one; without it, all. */
  readonly namesClient: boolean
  /** Whether `limit`, `sort` and `cursor` may ask for some of the groups. */
  readonly hasPages: boolean
  /** Whether `period=month` may stand in place of `days`. */
  readonly hasMonth: boolean
  /** Whether a parameter `include` may ask for limits. */
  readonly hasLimits: boolean
}

/** The calendar month to date, UTC. */
const PERIOD = 'period'
const MONTH = 'month'
/** The parameter that names groups, and the names that it goes by besides. */
const GROUPS = 'group_by'
const GROUPS_ALIASES = aliasesOf(GROUPS)
/** The parameter that adds more than usage to an answer, and its only value. */
const INCLUDE = 'include'
const LIMITS = 'limits'

export const CLIENT_FORM: QueryForm = {
  parseGroups: parseClientGroups,
  groupsMessage: `must name ${CLIENT_GROUPS.join(', ')}, or several of them with commas between, each once`,
  namesClient: false,
  hasPages: false,
  hasMonth: true,
  hasLimits: true,
}

export const OPERATOR_FORM: QueryForm = {
  parseGroups: parseUsageGroups,
  groupsMessage: `must name ${USAGE_GROUPS.join(', ')}, or several of them with commas between`,
  namesClient: true,
  hasPages: true,
  hasMonth: false,
  hasLimits: false,
}

/** What was asked, or the parameter that is wrong and why. */
export type ParsedQuery =
  | {
      readonly kind: 'query'
      readonly query: Omit<UsageQuery, 'client'>
      /** The name of a client; `null`: none was named. */
      readonly client: string | null
      /** Limits are asked for, too. */
      readonly includesLimits?: true
    }
  | { readonly kind: 'problem'; readonly param: string; readonly message: string }

/**
 * Reads a query of usage.
 *
 * @param search What stands behind `?`.
 */
export function parseUsageQuery(search: string, form: QueryForm, nowMs: number): ParsedQuery {
  const query = new URLSearchParams(search)
  const { namesClient, hasPages, hasMonth, hasLimits } = form
  // A misspelt `days` that was ignored would answer for another period than was asked for.
  const known = [
    'days',
    GROUPS,
    ...GROUPS_ALIASES,
    ...(namesClient ? ['client'] : []),
    ...(hasPages ? ['limit', 'sort', 'cursor'] : []),
    ...(hasMonth ? [PERIOD] : []),
    ...(hasLimits ? [INCLUDE] : []),
  ]
  const unknown = [...query.keys()].find((name) => !known.includes(name))
  if (unknown !== undefined) return problem(unknown, `There is no parameter ${unknown}.`)

  const [askedPeriod, ...morePeriods] = query.getAll(PERIOD)
  const isMonth = askedPeriod !== undefined
  if (isMonth && (askedPeriod !== MONTH || morePeriods.length > 0 || query.has('days'))) {
    return problem(PERIOD, `${PERIOD} must be ${MONTH}, once, in place of days.`)
  }
  const defaultDays = isMonth ? dayOfMonth(nowMs) : DEFAULT_PERIOD_DAYS
  const [askedDays = String(defaultDays), ...moreDays] = query.getAll('days')
  const days = parsePeriodDays(askedDays)
  if (days === null || moreDays.length > 0) {
    return problem('days', `days must be one integer from 1 to ${MAX_PERIOD_DAYS}.`)
  }
  const alias = GROUPS_ALIASES.find((name) => query.has(name))
  if (alias !== undefined && query.has(GROUPS))
    return problem(alias, `${alias} is another name of ${GROUPS}, so give one of them.`)
  const groupParameter = alias ?? GROUPS
  const [askedGroups, ...moreGroups] = query.getAll(groupParameter)
  const groupBy = askedGroups === undefined ? [] : form.parseGroups(askedGroups)
  if (groupBy === null || moreGroups.length > 0) {
    return problem(groupParameter, `${groupParameter} ${form.groupsMessage}.`)
  }
  const [client = null, ...moreClients] = query.getAll('client')
  if (moreClients.length > 0) return problem('client', 'client must be a text.')
  const page = parsePage(query, groupBy)
  if (page !== null && 'kind' in page) return page
  const whole = { days, ...periodOf(days, nowMs), groupBy }
  const [included, ...moreIncluded] = query.getAll(INCLUDE)
  if (moreIncluded.length > 0 || (included !== undefined && included !== LIMITS)) {
    return problem(INCLUDE, `${INCLUDE} must be ${LIMITS}, once.`)
  }
  const parsed = { kind: 'query', query: page === null ? whole : { ...whole, page }, client } as const
  return included === undefined ? parsed : { ...parsed, includesLimits: true }
}

type Problem = Extract<ParsedQuery, { readonly kind: 'problem' }>

/** `null`: none is asked for. */
function parsePage(query: URLSearchParams, groupBy: readonly UsageGroup[]): UsagePage | Problem | null {
  const repeated = ['limit', 'sort', 'cursor'].find((name) => query.getAll(name).length > 1)
  if (repeated !== undefined) return problem(repeated, `${repeated} must be given once.`)
  const asked = query.get('limit')
  if (asked === null) {
    const needing = ['sort', 'cursor'].find((name) => query.has(name))
    return needing === undefined ? null : problem(needing, `${needing} needs limit.`)
  }
  const limit = parsePageLimit(asked)
  if (limit === null) return problem('limit', `limit ${PAGE_LIMIT_RULE}.`)
  if (groupBy.length === 0)
    return problem('limit', 'limit needs group_by: without groups there is one answer.')
  const sort = query.get('sort') ?? 'cost'
  if (!isUsageSort(sort)) return problem('sort', `sort must be one of ${USAGE_SORTS.join(', ')}.`)
  const cursor = query.get('cursor')
  if (cursor === null) return { limit, sort, after: null }
  const after = parseUsageCursor(cursor, sort, groupBy)
  if (after === null) return problem('cursor', 'cursor must be that of an answer to the same query.')
  return { limit, sort, after }
}

function problem(param: string, message: string): Problem {
  return { kind: 'problem', param, message }
}

/**
 * Names with commas between, spaces and repetitions allowed, in the order written; `null`: one is not a
 * group.
 */
export function parseUsageGroups(text: string): readonly UsageGroup[] | null {
  const groups = text.split(',').map((word) => USAGE_GROUPS.find((group) => group === word.trim()))
  const known = groups.filter((group) => group !== undefined)
  return known.length === groups.length ? [...new Set(known)] : null
}

/** Names with commas between, each once, in the order of answers; `null`: one is not a client's group. */
function parseClientGroups(text: string): readonly UsageGroup[] | null {
  const names = text.split(',')
  const groups = CLIENT_GROUPS.filter((group) => names.includes(group))
  return groups.length === names.length ? groups : null
}
