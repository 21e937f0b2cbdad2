import { picoToUsdText } from '../../domain/pico-usd.ts'
import { utcDayOf } from '../../domain/utc-day.ts'
import { GatewayError } from '../../http/errors.ts'
import { setClientDisabled } from '../../keys/clients.ts'
import {
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { budgetField, LIST_PART, textField } from '../../operations/fields.ts'
import { announcedChange, FOR_THE_PAGE, operation, Part } from '../../operations/operation.ts'
import type { AskingMember, ClientPorts } from '../../operations/ports.ts'
import { badCursor, invalid, notFound } from '../../operations/refuse.ts'
import { budgetPeriodOf } from '../limit.ts'
import { setLimits } from '../table/change-limits.ts'
import {
  findGroupBudget,
  type Member,
  type MemberKey,
  selectGroupMembers,
  selectMemberKeys,
  selectSpentOf,
} from './members.ts'
import { holdMember } from './own-keys.ts'
import { budgetOf } from './sign-in-member.ts'

const SHOWN_MEMBER = shownDocument('Member', {
  id: shownText('The id of the member’s client.'),
  name: shownText('The name of that client.'),
  owner: shownFlag('The member owns the group, too.'),
  disabled: shownFlag('All calls with its keys are refused.'),
  signed_in_at: shownMoment('The last sign-in.'),
  keys_end_at: shownMoment('Its keys end then, unless it signs in before.'),
  budget_usd: shownTextOrNull('US dollars that its calls may cost a calendar month. null: no such limit.'),
  spent_usd: shownText('US dollars that its calls of this month cost so far.'),
  keys: shownList(
    shownDocument('MemberKey', {
      name: shownText('The label.'),
      prefix: shownText('The beginning of the key, to tell it by.'),
      expires_at: shownMoment('The end of the key.'),
      last_used_at: shownMomentOrNull('To the minute. null: the key was never used.'),
    }),
    'Those that it made and that are in force.',
  ),
})

const MEMBER_ID = textField('The id of the member’s client.', 'id')
/** More would hold a connection for long. */
const MOST_AT_ONCE = 500

export const listMembers = operation({
  name: 'own.members',
  summary: 'Shows the members of the group, what they spent this month, and their keys without secrets.',
  role: 'owner',
  http: { method: 'GET', path: '/members', id: 'listOwnMembers' },
  input: LIST_PART,
  answer: shownList(SHOWN_MEMBER),
  gives: 'Those that are in the group itself, by name, 100 where limit does not say otherwise.',
  command: FOR_THE_PAGE,
  async run(ports: ClientPorts, { limit = 100, cursor = null }) {
    const { group } = askingOwner(ports)
    return await ports.read(async (pool) => {
      if (cursor !== null && (await selectGroupMembers(pool, group.id, { id: cursor, rows: 1 })).length === 0)
        throw badCursor()
      const rows = Math.min(limit, MOST_AT_ONCE)
      const found = await selectGroupMembers(pool, group.id, { cursor, rows: rows + 1 })
      const members = found.slice(0, rows)
      return new Part(
        await showMembers({ ...ports, pool }, members),
        found.length > rows ? (members.at(-1)?.id ?? null) : null,
      )
    })
  },
})

export const setMemberBudget = operation({
  name: 'own.members.set-budget',
  summary: 'Sets what calls of a member may cost a calendar month, within what the group allows.',
  role: 'owner',
  http: { method: 'PUT', path: '/members/{id}/budget', id: 'setMemberBudget', body: 'MemberBudget' },
  input: { id: MEMBER_ID, budget_usd: budgetField('US dollars.') },
  answer: SHOWN_MEMBER,
  gives: 'The member.',
  errors: ['not_found', 'conflict'],
  async run(ports: ClientPorts, { id, budget_usd: amount }, who) {
    const { group, policy } = await holdOwner(ports)
    await getMember(ports, group.id, id)
    const bounds = [policy.memberBudgetPico, await findGroupBudget(ports.pool, group.id)]
    for (const most of bounds)
      if (most !== null && amount > most)
        throw invalid('budget_usd', `must be at most ${picoToUsdText(most)}, which the group allows`)
    const { scope, order } = budgetOf(id, amount)
    await setLimits(ports.pool, scope, [order], who)
    return await showMember(ports, group.id, id)
  },
  changes: announcedChange(
    'admin.limit_changed',
    'budget of a member set by an owner of its group',
    'client',
  ),
  command: FOR_THE_PAGE,
})

export const disableMember = operation({
  name: 'own.members.disable',
  summary: 'Refuses all calls of a member from now on, within a second. Only an operator allows them again.',
  role: 'owner',
  http: { method: 'POST', path: '/members/{id}/disable', id: 'disableMember' },
  input: { id: MEMBER_ID },
  answer: SHOWN_MEMBER,
  gives: 'The member.',
  errors: ['not_found', 'conflict'],
  async run(ports: ClientPorts, { id }) {
    const { group } = await holdOwner(ports)
    const { name } = await getMember(ports, group.id, id)
    await setClientDisabled(ports.pool, name, true)
    return await showMember(ports, group.id, id)
  },
  changes: announcedChange('admin.client_changed', 'member disabled by an owner of its group', 'client'),
  command: FOR_THE_PAGE,
})

/** The role was checked where the route is served; this has no other way than through it. */
function askingOwner({ client: { member } }: ClientPorts): AskingMember {
  if (member?.isOwner !== true) throw new GatewayError('role_required')
  return member
}

async function holdOwner(ports: ClientPorts): Promise<AskingMember> {
  askingOwner(ports)
  return (await holdMember(ports)).member
}

/** One of another group says the same as one that is not there. */
async function getMember({ pool }: ClientPorts, groupId: string, id: string): Promise<Member> {
  const [member] = await selectGroupMembers(pool, groupId, { id, rows: 1 })
  if (member === undefined) throw notFound(`Your group has no member ${id}.`, 'id')
  return member
}

async function showMember(ports: ClientPorts, groupId: string, id: string) {
  const [shown] = await showMembers(ports, [await getMember(ports, groupId, id)])
  if (shown === undefined) throw notFound(`Your group has no member ${id}.`, 'id')
  return shown
}

async function showMembers({ pool, now }: ClientPorts, members: readonly Member[]) {
  const ids = members.map(({ id }) => id)
  const today = utcDayOf(now())
  const spent = await selectSpentOf(pool, ids, budgetPeriodOf('month', null, today))
  const keys = await selectMemberKeys(pool, ids)
  return members.map(({ id, name, isOwner, isDisabled, signedInAt, keysEndAt, budgetPico }, at) => ({
    id,
    name,
    owner: isOwner,
    disabled: isDisabled,
    signed_in_at: signedInAt.toISOString(),
    keys_end_at: keysEndAt.toISOString(),
    budget_usd: budgetPico === null ? null : picoToUsdText(budgetPico),
    spent_usd: picoToUsdText(spent[at] ?? 0n),
    keys: (keys.get(id) ?? []).map(renderMemberKey),
  }))
}

function renderMemberKey({ name, prefix, expiresAt, lastUsedAt }: MemberKey) {
  return {
    name,
    prefix,
    expires_at: expiresAt.toISOString(),
    last_used_at: lastUsedAt?.toISOString() ?? null,
  }
}
