import { periodOf } from '../../domain/period.ts'
import { findClient } from '../../keys/clients.ts'
import { shownList } from '../../operations/answers.ts'
import { clientField, daysField, groupsField, LIST_PART, LISTED_ROWS } from '../../operations/fields.ts'
import { operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { noClient } from '../../operations/refuse.ts'
import { renderTable } from '../../operations/table.ts'
import { REFUSED_GROUPS, type RefusedGroup, selectRefusedCalls } from '../table/refused-calls.ts'
import { REFUSED_CALLS } from './limit-answers.ts'

export const listRefused = operation({
  name: 'limits.refused',
  summary: 'Shows calls that were refused before they went upstream, most calls first. They are in no usage.',
  role: 'read',
  http: { method: 'GET', path: '/refused', id: 'listRefused', rows: LISTED_ROWS },
  input: {
    client: clientField().optional(),
    days: daysField(),
    group_by: groupsField(
      REFUSED_GROUPS,
      `Counts the calls apart by ${REFUSED_GROUPS.join(', ')}, or several of them. Without it: one sum.`,
    ).optional(),
    limit: LIST_PART.limit,
  },
  answer: shownList(REFUSED_CALLS),
  gives: 'The sums.',
  errors: ['not_found'],
  command: {
    words: 'limits refused',
    print(sums, { group_by: asked }) {
      if (sums.length === 0) return 'No call was refused.'
      const groups = groupsOf(asked)
      return renderTable(
        [...groups.map((group) => ({ heading: group.toUpperCase() })), { heading: 'CALLS', align: 'right' }],
        sums.map((sum) => [...groups.map((group) => sum[group] ?? ''), `${sum.calls}`]),
      )
    },
  },
  async run({ pool, now }: Ports, asked) {
    const groups = groupsOf(asked.group_by)
    const { client, days, limit = null } = asked
    const found = client === undefined ? null : await findClient(pool, client)
    if (client !== undefined && found === null) throw noClient(client)
    const sums = await selectRefusedCalls(pool, periodOf(days, now()), groups, found?.id ?? null, limit)
    return sums.map((sum) => ({
      ...Object.fromEntries(groups.map((group) => [group, sum[group] ?? ''])),
      calls: Number(sum.calls),
    }))
  },
})

/** In the order of the table, whatever the order in which they were asked for. */
function groupsOf(asked: readonly RefusedGroup[] = []): readonly RefusedGroup[] {
  return REFUSED_GROUPS.filter((group) => asked.includes(group))
}
