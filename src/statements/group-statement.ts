import { picoToUsdText } from '../domain/pico-usd.ts'
import { daysOfMonth, type UtcMonth } from '../domain/utc-month.ts'
import { clientsBelow } from '../keys/groups/group-spans.ts'
import { getGroupOfAnyDay } from '../keys/operations/groups.ts'
import type { LedgerPorts } from '../ledger/operations/ledger.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { textField } from '../operations/fields.ts'
import { renderedOperation } from '../operations/operation.ts'
import { printable, renderTable } from '../operations/table.ts'
import { inSnapshot, type Postgres, type PostgresSession } from '../store/connection/postgres.ts'
import { SCHEMA } from '../store/connection/schema.ts'
import { findOpenEnds, numbered, type OpenEnd } from './open-ends.ts'
import { type GroupCharge, selectGroupCharges } from './select-charges.ts'
import { readStated, type Stated } from './select-statement.ts'
import { roundToCents } from './statement.ts'
import { CHARGE, chargeDocument, MONTH, OPEN_END, PARTS, partsDocument, usd } from './statement-document.ts'

/** What a client used on the days of a month that it was in the group. */
interface Member {
  readonly client_id: string
  readonly client: string | null
  /** The group right below the one of the statement that the client was in, or that one itself. */
  readonly part_id: string
  readonly part: string
  readonly from: string
  readonly to: string
  readonly requests: bigint
  readonly costPico: bigint
}

interface GroupStatement extends Stated {
  readonly group: { readonly id: string; readonly name: string }
  readonly month: UtcMonth
  readonly members: readonly Member[]
  readonly charges: readonly GroupCharge[]
  readonly totalPico: bigint
  readonly provisional: readonly OpenEnd[]
}

const SELECT_MEMBERS = `
select m.client_id, c.name as client, m.part as part_id, g.name as part,
  greatest(m.from_day, $2::date) as from, least(m.to_day, $3::date) as to,
  sum(u.requests)::text as requests, sum(u.cost_pico + u.adjusted_pico)::text as pico
from (${clientsBelow('$1')}) m
join ${SCHEMA}.daily_usage u on u.client_id = m.client_id and u.day between m.from_day and m.to_day
left join ${SCHEMA}.clients c on c.id = m.client_id
join ${SCHEMA}.groups g on g.id = m.part
where u.day between $2 and $3
group by m.client_id, c.name, m.part, g.name, m.from_day, m.to_day
order by c.name, m.client_id, m.from_day`

/** In one snapshot, so that members and lines are the same calls. */
async function selectGroupStatement(
  pool: Postgres,
  group: GroupStatement['group'],
  month: UtcMonth,
): Promise<Omit<GroupStatement, 'provisional'>> {
  return await inSnapshot(pool, async (session) => {
    const stated = await readStated(session, 'group', group.id, month)
    const charges = await selectGroupCharges(session, group.id, month)
    return {
      ...{ ...stated, group, month, charges, members: await selectMembers(session, group.id, month) },
      totalPico: charges.reduce((sum, { amountPico }) => sum + amountPico, stated.costPico),
    }
  })
}

async function selectMembers(
  session: PostgresSession,
  groupId: string,
  month: UtcMonth,
): Promise<readonly Member[]> {
  const { from, to } = daysOfMonth(month)
  const { rows } = await session.query<
    Omit<Member, 'requests' | 'costPico'> & { readonly requests: string; readonly pico: string }
  >(SELECT_MEMBERS, [groupId, from, to])
  return rows.map(({ requests, pico, ...member }) => ({
    ...member,
    requests: BigInt(requests),
    costPico: BigInt(pico),
  }))
}

const GROUP_STATEMENT = shownDocument('GroupStatement', {
  group: shownText('The name of the group.'),
  group_id: shownText('The id of the group.'),
  month: shownText('YYYY-MM, UTC.'),
  requests: shownCount('Calls that were served.'),
  members: shownList(
    shownDocument('GroupMemberUse', {
      client: shownTextOrNull('The name of the client. null: it is not known.'),
      client_id: shownText('The id of the client.'),
      part: shownText('The name of the group right below that it was in, or of this one.'),
      part_id: shownText('The id of that group.'),
      from: shownDay('The first day of the month that it was there.'),
      to: shownDay('The last one.'),
      requests: shownCount('Calls of these days.'),
      cost_usd: usd(),
    }),
    'What each client used on the days that it was in the group or below it.',
  ),
  ...PARTS,
  charges: shownList(
    shownDocument('GroupCharge', { client: shownText('The name of the client.'), ...CHARGE }),
    'What clients are charged beside calls, with a first day on which they were there, as it is now.',
  ),
  cost_usd: usd('The sum of lines and corrections, and of members.'),
  total_usd: usd('With charges.'),
  rounded_usd: usd('The total in whole cents, halves away from zero: the only rounding.'),
  provisional: shownList(OPEN_END, 'Why the figures may still change.'),
})

export const showGroupStatement = renderedOperation({
  name: 'groups.statement',
  summary: 'Shows what a group and all below it used in a month, by client and line by line.',
  description:
    'A client counts on the days that it was there, so two groups share the month of a client that moved. What clients owe is in their own statements.',
  role: 'read',
  http: { method: 'GET', path: '/groups/{id}/statements/{month}', id: 'getGroupStatement' },
  input: { id: textField('The id of the group, or its name.', 'name'), month: MONTH },
  answer: GROUP_STATEMENT,
  gives: 'The statement.',
  errors: ['not_found'],
  isReport: true,
  async run(ports: LedgerPorts, { id, month }): Promise<GroupStatement> {
    const { pool, read } = ports
    const group = await getGroupOfAnyDay(pool, id)
    const [stated, provisional] = await Promise.all([
      read((from) => selectGroupStatement(from, group, month)),
      findOpenEnds(ports, null, month),
    ])
    return { ...stated, provisional }
  },
  render: ({
    group,
    month,
    requests,
    members,
    charges,
    costPico,
    totalPico,
    provisional,
    ...parts
  }: GroupStatement) => ({
    group: group.name,
    group_id: group.id,
    month,
    requests: Number(requests),
    members: members.map(({ requests: calls, costPico: pico, ...member }) => ({
      ...member,
      requests: Number(calls),
      cost_usd: picoToUsdText(pico),
    })),
    ...partsDocument(parts),
    charges: charges.map(({ client, ...charge }) => ({ client, ...chargeDocument(charge) })),
    cost_usd: picoToUsdText(costPico),
    total_usd: picoToUsdText(totalPico),
    rounded_usd: picoToUsdText(roundToCents(totalPico)),
    provisional,
  }),
  command: {
    words: 'group statement',
    options: { id: '<name>', month: '<month>' },
    print: textOf,
  },
})

function textOf({
  group,
  month,
  requests,
  members,
  charges,
  totalPico,
  provisional,
}: GroupStatement): string {
  const table = renderTable(
    [
      { heading: 'CLIENT' },
      { heading: 'IN' },
      { heading: 'FROM' },
      { heading: 'TO' },
      { heading: 'REQUESTS', align: 'right' },
      { heading: 'COST USD', align: 'right' },
    ],
    [
      ...members.map(({ client, client_id: id, part, from, to, requests: calls, costPico: pico }) => [
        ...[client ?? id, part, from, to, `${calls}`, picoToUsdText(pico)],
      ]),
      ...charges.map(({ client, category, service, from, to, amountPico }) => [
        ...[client, `${category}: ${service}`, from, to, '', picoToUsdText(amountPico)],
      ]),
    ],
    ['(all)', '', '', '', `${requests}`, picoToUsdText(totalPico)],
  )
  return [
    `${printable(group.name)}, ${month} (UTC), ${numbered(Number(requests), 'call', 'calls')}`,
    '',
    table,
    '',
    ...provisional.map(({ says }) => `Provisional: ${says}`),
  ]
    .join('\n')
    .trimEnd()
}
