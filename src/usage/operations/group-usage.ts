import { z } from 'zod'
import { DEFAULT_PERIOD_DAYS, periodOf } from '../../domain/period.ts'
import { picoToUsdNumber, picoToUsdText } from '../../domain/pico-usd.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { renderTable } from '../../operations/table.ts'
import { type GroupSums, selectGroupSums } from '../report/group-sums.ts'
import { checkPeriod, PERIOD_FIELDS, PERIOD_OPTIONS, periodAsked } from './asked-period.ts'

interface GroupUsage {
  readonly from: string
  readonly to: string
  readonly groups: readonly GroupSums[]
}

export const groupUsage = renderedOperation({
  name: 'groups.usage',
  summary: 'Shows what each group used, with all below it, as a tree.',
  description: 'Each is the sum of what is right below it on each day, and of what its own clients used.',
  role: 'read',
  http: { method: 'GET', path: '/groups/usage', id: 'getGroupUsage' },
  input: PERIOD_FIELDS,
  check: checkPeriod,
  answer: shownDocument('GroupUsage', {
    from: shownDay('The first UTC day.'),
    to: shownDay('The last one.'),
    groups: shownList(
      shownDocument('GroupUse', {
        id: shownTextOrNull('The id of the group. null: clients in none, who come last.'),
        name: shownTextOrNull('Its name.'),
        parent_id: shownTextOrNull('The id of the group that it is in now. null: none.'),
        level: shownCount('1: it is in no other.'),
        clients: shownCount('Clients that are in it themselves now.'),
        requests: shownCount('Calls that were sent upstream.'),
        errors: shownCount('Of these, those that failed.'),
        total_tokens: shownCount('Input and output tokens.'),
        unpriced: z.number().meta({ type: 'integer', description: 'Calls without a cost.' }),
        cost_usd: z.number().describe('The JSON number nearest to cost_usd_text.'),
        cost_usd_text: shownText('What it cost, corrections included, exact, as decimal text.'),
        own_cost_usd_text: shownText('Of that, what clients in the group itself used.'),
      }),
      'In the order of the tree.',
    ),
  }),
  gives: 'The groups.',
  isReport: true,
  async run({ read, now }: Ports, asked): Promise<GroupUsage> {
    const period = periodAsked(asked, now()) ?? periodOf(DEFAULT_PERIOD_DAYS, now())
    const groups = await read((pool) => selectGroupSums(pool, period))
    return { from: period.fromDay, to: period.toDay, groups }
  },
  render: ({ groups, ...period }: GroupUsage) => ({
    ...period,
    groups: groups.map(({ group, sums, own }) => ({
      id: group?.id ?? null,
      name: group?.name ?? null,
      parent_id: group?.parentId ?? null,
      level: group?.level ?? 1,
      clients: group?.clients ?? 0,
      requests: Number(sums.requests),
      errors: Number(sums.errors),
      total_tokens: Number(sums.inputTokens + sums.outputTokens),
      unpriced: Number(sums.unpriced),
      cost_usd: picoToUsdNumber(sums.costPico),
      cost_usd_text: picoToUsdText(sums.costPico),
      own_cost_usd_text: picoToUsdText(own.costPico),
    })),
  }),
  command: { words: 'group usage', options: PERIOD_OPTIONS, print: textOf },
})

function textOf({ from, to, groups }: GroupUsage): string {
  const rows = groups.map(({ group, sums, own }) => [
    group === null ? '(none)' : `${'  '.repeat(group.level - 1)}${group.name}`,
    `${sums.requests}`,
    `${sums.inputTokens + sums.outputTokens}`,
    `${sums.unpriced}`,
    picoToUsdText(sums.costPico),
    picoToUsdText(own.costPico),
  ])
  const right = ['REQUESTS', 'TOKENS', 'UNPRICED', 'COST USD', 'OWN COST USD']
  const columns = right.map((heading) => ({ heading, align: 'right' as const }))
  return `${from} to ${to}, UTC\n${renderTable([{ heading: 'GROUP' }, ...columns], rows)}`
}
