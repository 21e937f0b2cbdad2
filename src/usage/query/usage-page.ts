import { parsedJson } from '../../domain/json.ts'
import { isDay } from '../../domain/utc-day.ts'
import { GROUP_DIMENSIONS, type GroupField, type UsageGroup } from '../dimensions.ts'
import type { UsageTotals } from './usage-figures.ts'

/** What groups may be sorted by, the largest first: names in queries, and the sums that they mean. */
const SORTS = {
  cost: 'costPico',
  requests: 'requests',
  input_tokens: 'inputTokens',
  output_tokens: 'outputTokens',
} as const

export type UsageSort = keyof typeof SORTS

export const USAGE_SORTS = Object.keys(SORTS) as readonly UsageSort[]

/** Some of the groups of an answer: those with most, or those that come behind a cursor. */
export interface UsagePage {
  readonly limit: number
  readonly sort: UsageSort
  readonly after: PageEnd | null
}

/** The last group of the page before: what it is sorted by, and what names it, in the order of the groups. */
interface PageEnd {
  readonly value: bigint
  readonly ids: readonly string[]
}

/** The field of a row that it is sorted by. */
export function sortFieldOf(sort: UsageSort): (typeof SORTS)[UsageSort] {
  return SORTS[sort]
}

const FIELD_OF = new Map(GROUP_DIMENSIONS.map(({ group, field }) => [group.name, field]))

/** Names the place behind a row. It holds for queries by the same groups in the same order. */
export function cursorBehind(
  row: UsageTotals & Readonly<Record<GroupField, string | null>>,
  sort: UsageSort,
  groupBy: readonly UsageGroup[],
): string {
  const ids = groupBy.map((group) => row[FIELD_OF.get(group) ?? 'day'])
  return Buffer.from(JSON.stringify([sort, groupBy.join(), `${row[SORTS[sort]]}`, ...ids])).toString(
    'base64url',
  )
}

const VALUE = /^-?[0-9]{1,60}$/

/** `null`: it is not of a query with this order and these groups. */
export function parseUsageCursor(
  text: string,
  sort: UsageSort,
  groupBy: readonly UsageGroup[],
): PageEnd | null {
  const parts = textsFrom(text)
  const [ofSort, groups, value = '', ...ids] = parts
  if (ofSort !== sort || groups !== groupBy.join() || !VALUE.test(value)) return null
  if (ids.length !== groupBy.length || ids.some((id) => id.includes('\0'))) return null
  return groupBy.every((group, index) => group !== 'day' || isDay(ids[index] ?? ''))
    ? { value: BigInt(value), ids }
    : null
}

function textsFrom(cursor: string): readonly string[] {
  const parts = parsedJson(Buffer.from(cursor, 'base64url').toString())
  return Array.isArray(parts) && parts.every((part) => typeof part === 'string') ? parts : []
}
