import { renderSummary, type UsageTotals } from './usage-figures.ts'

/** What operators may break usage down by. */
export const USAGE_GROUPS = ['day', 'model', 'key', 'client'] as const
export type UsageGroup = (typeof USAGE_GROUPS)[number]

/** Totals, and what they are of; a field that was not grouped by is `null`. */
export interface GroupedTotals extends UsageTotals {
  readonly day: string | null
  readonly model: string | null
  readonly keyId: string | null
  /** `null` too when the key is no longer known. */
  readonly keyName: string | null
  readonly clientId: string | null
  readonly clientName: string | null
  /** Calls whose cost is in no sum, calls of whose cost a part is, and calls whose tokens we counted. */
  readonly unpriced: bigint
  readonly partlyUnpriced: bigint
  readonly estimated: bigint
  /** Of the tokens, those of calls without a price, and those that we counted. */
  readonly unpricedInputTokens: bigint
  readonly unpricedOutputTokens: bigint
  readonly estimatedInputTokens: bigint
  readonly estimatedOutputTokens: bigint
}

/** Names of groups parted by commas, each taken once; `null`: one of them is none. */
export function parseUsageGroups(text: string): readonly UsageGroup[] | null {
  const groups = text.split(',').map((word) => USAGE_GROUPS.find((group) => group === word.trim()))
  const known = groups.filter((group) => group !== undefined)
  return known.length === groups.length ? [...new Set(known)] : null
}

const NAMES: Readonly<Record<UsageGroup, (row: GroupedTotals) => string>> = {
  day: ({ day }) => day ?? '',
  model: ({ model }) => model ?? '',
  key: ({ keyId, keyName }) => keyName ?? keyId ?? '',
  client: ({ clientName, clientId }) => clientName ?? clientId ?? '',
}

/** What people call the thing that `row` is the totals of, by one of its groups. */
export function groupName(row: GroupedTotals, group: UsageGroup): string {
  return NAMES[group](row)
}

/** By the names that people read, as ids have no order that means anything. */
export function sortByGroups<Row extends GroupedTotals>(
  rows: readonly Row[],
  by: readonly UsageGroup[],
): readonly Row[] {
  return rows.toSorted((a, b) => {
    for (const group of by) {
      const [nameOfA, nameOfB] = [NAMES[group](a), NAMES[group](b)]
      if (nameOfA !== nameOfB) return nameOfA < nameOfB ? -1 : 1
    }
    return 0
  })
}

/**
 * Usage as JSON, the same on the command line and over HTTP: one summary, or with groups a list of them with the
 * groups' fields before each.
 *
 * @param client The name of the client that was asked for; `null`: all of them.
 */
export function renderBreakdown(
  rows: readonly GroupedTotals[],
  by: readonly UsageGroup[],
  client: string | null,
  periodDays: number,
) {
  const documents = rows.map((row) => ({
    ...(by.includes('day') ? { day: row.day } : {}),
    ...(by.includes('model') ? { model: row.model } : {}),
    ...(by.includes('key') ? { key_id: row.keyId, key_name: row.keyName } : {}),
    ...renderSummary(by.includes('client') ? row.clientName : client, periodDays, row),
    ...(by.length === 0 ? {} : renderDoubts(row)),
  }))
  return by.length === 0 ? documents[0] : documents
}

/** How far a group's cost is the whole of it: a cost of 0 may be that of calls without a price. */
function renderDoubts(row: GroupedTotals) {
  return {
    unpriced: Number(row.unpriced),
    partly_unpriced: Number(row.partlyUnpriced),
    estimated: Number(row.estimated),
    unpriced_input_tokens: Number(row.unpricedInputTokens),
    unpriced_output_tokens: Number(row.unpricedOutputTokens),
    estimated_input_tokens: Number(row.estimatedInputTokens),
    estimated_output_tokens: Number(row.estimatedOutputTokens),
  }
}
