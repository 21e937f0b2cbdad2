import { utcDayOf } from '../../domain/utc-day.ts'
import {
  shownCount,
  shownDocument,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { dayField, flagField, nameField, textField } from '../../operations/fields.ts'
import { announcedChange, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { BEGINNING, type Misplaced, MOST_LEVELS, moveInto } from '../groups/group-moves.ts'
import {
  createGroup,
  findGroup,
  findGroupOfAnyDay,
  type Group,
  type GroupInTree,
  MOST_IN_FORCE,
  removeGroup,
  renameGroup,
  selectGroups,
  selectMembers,
} from '../groups/groups.ts'
import { lockKeyVersion } from '../key-version.ts'

const SHOWN_GROUP = shownDocument('Group', {
  id: shownText('The id of the group, which begins with grp_.'),
  name: shownText('The name of the group.'),
  parent_id: shownTextOrNull('The id of the group that it is in. null: none.'),
  clients: shownCount('Clients that are in it themselves.'),
  groups: shownCount('Groups that are in it themselves.'),
  created_at: shownMoment('The time at which it was made.'),
})

function renderGroup({ id, name, parentId, clients, groups, createdAt }: Group) {
  return { id, name, parent_id: parentId, clients, groups, created_at: createdAt.toISOString() }
}

const GROUP_NAME = nameField('1 to 128 characters that can be seen, without spaces around them.')
const WHICH_GROUP = textField('The id of the group, or its name.', 'name')

/** A place to go to: one of `into` and `none`. */
export const PLACE = {
  into: textField('The group that it goes into, by its id or name.', 'group').optional(),
  none: flagField('It goes into no group.').default(false),
  from: dayField(
    'The UTC day from which on it is there, also behind moves that were made since. Without it: today.',
  ).optional(),
}

interface AskedPlace {
  readonly into?: string | undefined
  readonly none: boolean
  readonly from?: string | undefined
}

/** @throws {GatewayError} `invalid_request` */
export function checkPlace({ into, none }: AskedPlace): void {
  if ((into !== undefined) === none) throw invalid('into', 'is needed, or none, and not both')
}

/**
 * Puts a client or group where it is asked to be. Gives whether it was elsewhere.
 *
 * @throws {GatewayError} `not_found`, `conflict` or `invalid_request`
 */
export async function place(
  { pool, now }: Pick<Ports, 'pool' | 'now'>,
  id: string,
  { into, from }: AskedPlace,
): Promise<boolean> {
  const today = utcDayOf(now())
  if (from !== undefined && from > today) throw invalid('from', 'must not be a day to come')
  const group = into === undefined ? null : await getGroup(pool, into)
  const moved = await moveInto(pool, id, group?.id ?? null, from ?? today)
  if (typeof moved === 'object') throw refuse(moved)
  return moved === 'moved'
}

function refuse({ why, day }: Misplaced) {
  const when = day === BEGINNING ? '' : ` on ${day}`
  const says = {
    cycle: `The group would be in itself${when}.`,
    depth: `Groups would be more than ${MOST_LEVELS} deep${when}.`,
  }
  return conflict(says[why], 'into')
}

/** By its id, else by its name. @throws {GatewayError} `not_found` */
export async function getGroup(pool: Postgres, idOrName: string): Promise<Group> {
  return required(idOrName, await findGroup(pool, idOrName))
}

/** The same, also of one that has ended. */
export async function getGroupOfAnyDay(
  pool: Postgres,
  idOrName: string,
): Promise<Pick<Group, 'id' | 'name'>> {
  return required(idOrName, await findGroupOfAnyDay(pool, idOrName))
}

function required<Found>(idOrName: string, found: Found | null): Found {
  if (found !== null) return found
  const named = idOrName.startsWith('grp_') ? idOrName : `named ${idOrName}`
  throw notFound(`There is no group ${named}.`, undefined, 'group list shows them')
}

const changed = (says: string) => announcedChange('admin.group_changed', says, 'group')

export const createGroupOperation = renderedOperation({
  name: 'groups.create',
  summary: 'Makes a group of clients, such as a team or a department.',
  role: 'write',
  http: { method: 'POST', path: '/groups', id: 'createGroup', status: 201, body: 'NewGroup' },
  input: {
    name: GROUP_NAME,
    into: textField('The group that it is in, by its id or name. Without it: none.', 'group').optional(),
  },
  answer: SHOWN_GROUP,
  gives: 'The group.',
  errors: ['conflict', 'not_found'],
  async run({ pool }: Ports, { name, into }) {
    await lockKeyVersion(pool)
    const parent = into === undefined ? null : await getGroup(pool, into)
    const made = await createGroup(pool, name, parent?.id ?? null)
    if (made === 'taken') throw nameTaken(name)
    if (made === 'full') throw conflict(`There are ${MOST_IN_FORCE} groups already.`)
    if (typeof made === 'object') throw refuse(made)
    return await getGroup(pool, made)
  },
  render: renderGroup,
  changes: changed('group created'),
  command: {
    words: 'group create',
    options: { name: '<name>' },
    print: ({ name }) => `Group ${name} is made. Put a client in it: client move CLIENT --into '${name}'`,
  },
})

function nameTaken(name: string) {
  return conflict(`There is already a group named ${name}.`, 'name')
}

export const listGroupsOperation = renderedOperation({
  name: 'groups.list',
  summary: 'Shows groups as a tree, each behind the one that it is in.',
  role: 'read',
  http: { method: 'GET', path: '/groups', id: 'listGroups' },
  input: {},
  answer: shownList(SHOWN_GROUP),
  gives: 'The groups.',
  run: ({ pool }: Ports) => selectGroups(pool),
  render: (groups: readonly GroupInTree[]) => groups.map(renderGroup),
  command: {
    words: 'group list',
    print: {
      empty: 'There is no group yet. Make one: group create NAME',
      columns: [
        { heading: 'NAME', cell: ({ name, level }) => `${'  '.repeat(level - 1)}${name}` },
        { heading: 'CLIENTS', align: 'right', cell: ({ clients }) => `${clients}` },
        { heading: 'CREATED', cell: ({ createdAt }) => createdAt.toISOString().slice(0, 10) },
        { heading: 'ID', cell: ({ id }) => id },
      ],
    },
  },
})

export const renameGroupOperation = renderedOperation({
  name: 'groups.rename',
  summary: 'Gives a group another name. Its id, members, limits and usage stay.',
  role: 'write',
  http: { method: 'POST', path: '/groups/{id}/rename', id: 'renameGroup', body: 'GroupName' },
  input: { id: WHICH_GROUP, name: GROUP_NAME },
  answer: SHOWN_GROUP,
  gives: 'The group.',
  errors: ['not_found', 'conflict'],
  async run({ pool }: Ports, { id, name }) {
    const group = await getGroup(pool, id)
    if (!(await renameGroup(pool, group.id, name))) throw nameTaken(name)
    return { ...group, name }
  },
  render: renderGroup,
  changes: changed('group renamed'),
  command: {
    words: 'group rename',
    options: { id: '<name>', name: '<new-name>' },
    print: ({ name, id }) => `The group ${id} is named ${name}.`,
  },
})

export const moveGroupOperation = renderedOperation({
  name: 'groups.move',
  summary: 'Puts a group, with all that is in it, into another group from a day on.',
  description: 'What was used before that day stays where it was.',
  role: 'write',
  http: { method: 'POST', path: '/groups/{id}/move', id: 'moveGroup', body: 'GroupPlace' },
  input: { id: WHICH_GROUP, ...PLACE },
  check: checkPlace,
  answer: SHOWN_GROUP,
  gives: 'The group.',
  errors: ['not_found', 'conflict'],
  async run(ports: Ports, { id, ...asked }) {
    await lockKeyVersion(ports.pool)
    const group = await getGroup(ports.pool, id)
    await place(ports, group.id, asked)
    return await getGroup(ports.pool, group.id)
  },
  render: renderGroup,
  changes: changed('group moved'),
  command: {
    words: 'group move',
    options: { id: '<name>' },
    print: ({ name }, { into }) => `The group ${name} is in ${into ?? 'no other one'}.`,
  },
})

export const removeGroupOperation = renderedOperation({
  name: 'groups.remove',
  summary: 'Ends a group. What is in it goes into another one, or out of it, as from today on.',
  description: 'What was used in it before stays its own, and is shown by its name.',
  role: 'write',
  http: { method: 'DELETE', path: '/groups/{id}', id: 'removeGroup' },
  input: {
    id: WHICH_GROUP,
    into: textField('The group that its members go into, by its id or name.', 'group').optional(),
    none: flagField('Its members go into no group.').default(false),
  },
  check({ into, none }) {
    if (into !== undefined && none) throw invalid('into', 'excludes none')
  },
  answer: SHOWN_GROUP,
  gives: 'The group as it was.',
  errors: ['not_found', 'conflict'],
  async run(ports: Ports, { id, ...asked }) {
    const { pool } = ports
    await lockKeyVersion(pool)
    const group = await getGroup(pool, id)
    const members = await selectMembers(pool, group.id)
    if (members.length > 0 && asked.into === undefined && !asked.none)
      throw conflict(
        `There are ${group.clients} clients and ${group.groups} groups in it: say which group they go into, or none.`,
        'id',
      )
    if (asked.into !== undefined && (await getGroup(pool, asked.into)).id === group.id)
      throw invalid('into', 'must be another group')
    for (const member of members) await place(ports, member, asked)
    await removeGroup(pool, group.id, utcDayOf(ports.now()))
    return group
  },
  render: renderGroup,
  changes: changed('group removed'),
  command: {
    words: 'group remove',
    options: { id: '<name>' },
    print: ({ name }) => `The group ${name} is removed.`,
  },
})
