import {
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { LIST_PART, LISTED_ROWS, nameField, textField } from '../../operations/fields.ts'
import { announcedChange, changeOf, Part, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { badCursor, conflict, noClient, notFound } from '../../operations/refuse.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import {
  type Client,
  createClient,
  findClient,
  findClientById,
  renameClient,
  selectClientPage,
  setClientDisabled,
} from '../clients.ts'
import { lockKeyVersion } from '../key-version.ts'
import { checkPlace, getGroup, PLACE, place } from './groups.ts'

const CLIENT = {
  id: shownText('The id of the client, which begins with cli_.'),
  name: shownText('The name of the client.'),
  disabled: shownFlag('All of its keys are refused.'),
  created_at: shownMoment('The time at which it was made.'),
}
const SHOWN_CLIENT = shownDocument('Client', CLIENT)

const SHOWN_PLACE = shownDocument('PlacedClient', {
  ...CLIENT,
  group: shownTextOrNull('The name of the group that it is in. null: none.'),
})

const renderPlaced = (client: Client) => ({ ...renderClient(client), group: client.group })

export const createClientOperation = renderedOperation({
  name: 'clients.create',
  summary: 'Makes a client.',
  role: 'write',
  http: { method: 'POST', path: '/clients', id: 'createClient', status: 201, body: 'NewClient' },
  input: { name: nameField('1 to 128 characters that can be seen, without spaces around them.') },
  answer: SHOWN_CLIENT,
  gives: 'The client.',
  errors: ['conflict'],
  async run({ pool }: Ports, { name }) {
    const created = await createClient(pool, name)
    if (created === null) throw conflict(`There is already a client named ${name}.`, 'name')
    return created
  },
  render: renderClient,
  changes: changeOf('admin.client_created', 'client created', 'client'),
  command: {
    words: 'client create',
    options: { name: '<name>' },
    print: ({ name }) => `Client ${name} is made. Give it a key: key create --client '${name}'`,
  },
})

export const listClientsOperation = renderedOperation({
  name: 'clients.list',
  summary: 'Shows clients, by name.',
  role: 'read',
  http: { method: 'GET', path: '/clients', id: 'listClients', rows: LISTED_ROWS },
  input: {
    group: textField('Only those in this group and below it, by its id or name.', 'name').optional(),
    ...LIST_PART,
  },
  answer: shownList(SHOWN_CLIENT),
  gives: 'The clients.',
  errors: ['not_found'],
  async run({ pool }: Ports, { group, limit = null, cursor = null }) {
    const groupId = group === undefined ? null : (await getGroup(pool, group)).id
    const page = await selectClientPage(pool, { limit, cursor }, groupId)
    if (page === null) throw badCursor()
    return new Part(page.items, page.next)
  },
  render: (clients: readonly Client[]) => clients.map(renderClient),
  command: {
    words: 'client list',
    print: {
      empty: 'There is no client yet. Make one: client create NAME',
      columns: [
        { heading: 'NAME', cell: ({ name }) => name },
        { heading: 'STATE', cell: ({ disabled }) => (disabled ? 'disabled' : 'enabled') },
        { heading: 'GROUP', cell: ({ group }) => group ?? '' },
        { heading: 'CREATED', cell: ({ createdAt }) => createdAt.toISOString().slice(0, 10) },
        { heading: 'ID', cell: ({ id }) => id },
      ],
    },
  },
})

const WHICH_CLIENT = textField('The id of the client, or its name.')

export const showClientOperation = renderedOperation({
  name: 'clients.show',
  summary: 'Shows a client.',
  role: 'read',
  http: { method: 'GET', path: '/clients/{id}', id: 'getClient' },
  input: { id: WHICH_CLIENT },
  answer: SHOWN_PLACE,
  gives: 'The client.',
  errors: ['not_found'],
  run: ({ pool }: Ports, { id }) => getClient(pool, id),
  render: renderPlaced,
  command: { words: 'client show', options: { id: '<name>' }, print: (client) => clientText(client) },
})

function clientText(client: Client): string {
  const { name, id, disabled, created_at: made, group } = renderPlaced(client)
  return [
    `name     ${name}`,
    `id       ${id}`,
    `state    ${disabled ? 'disabled' : 'enabled'}`,
    `created  ${made}`,
    ...(group === null ? [] : [`group    ${group}`]),
  ].join('\n')
}

export const renameClientOperation = renderedOperation({
  name: 'clients.rename',
  summary: 'Gives a client another name. Its id, keys, limits and usage stay.',
  description:
    'Files that name the client need the new name: prices, markups and paths of TALLYGATE_CONFIG, and those of apply.',
  role: 'write',
  http: { method: 'POST', path: '/clients/{id}/rename', id: 'renameClient', body: 'ClientName' },
  input: {
    id: WHICH_CLIENT,
    name: nameField('1 to 128 characters that can be seen, without spaces around them.'),
  },
  answer: SHOWN_CLIENT,
  gives: 'The client.',
  errors: ['not_found', 'conflict'],
  async run({ pool }: Ports, { id, name }) {
    const client = await getClient(pool, id)
    const renamed = await renameClient(pool, client.id, name)
    if (renamed === null) throw noClient(id)
    if (renamed === 'taken') throw conflict(`There is already a client named ${name}.`, 'name')
    return renamed
  },
  render: renderClient,
  changes: announcedChange('admin.client_changed', 'client renamed', 'client'),
  command: {
    words: 'client rename',
    options: { id: '<name>', name: '<new-name>' },
    print: ({ name, id }) => `The client ${id} is named ${name}.`,
  },
})

export const moveClientOperation = renderedOperation({
  name: 'clients.move',
  summary: 'Puts a client into a group from a day on.',
  description: 'What it used before that day stays where it was.',
  role: 'write',
  http: { method: 'POST', path: '/clients/{id}/move', id: 'moveClient', body: 'ClientPlace' },
  input: { id: WHICH_CLIENT, ...PLACE },
  check: checkPlace,
  answer: SHOWN_PLACE,
  gives: 'The client.',
  errors: ['not_found', 'conflict'],
  async run(ports: Ports, { id, ...asked }) {
    await lockKeyVersion(ports.pool)
    const client = await getClient(ports.pool, id)
    await place(ports, client.id, asked)
    return await getClient(ports.pool, client.id)
  },
  render: renderPlaced,
  changes: announcedChange('admin.client_changed', 'client moved', 'client'),
  command: {
    words: 'client move',
    options: { id: '<name>' },
    print: ({ name, group }) =>
      `The client ${name} is in ${group === null ? 'no group' : `the group ${group}`}.`,
  },
})

export const disableClientOperation = switching('disable', 'Refuses all keys of a client, within a second.')
export const enableClientOperation = switching('enable', 'Takes the keys of a client again.')

function switching(verb: 'disable' | 'enable', summary: string) {
  return renderedOperation({
    name: `clients.${verb}`,
    summary,
    role: 'write',
    http: { method: 'POST', path: `/clients/{id}/${verb}`, id: `${verb}Client` },
    input: { id: WHICH_CLIENT },
    answer: SHOWN_CLIENT,
    gives: 'The client.',
    errors: ['not_found'],
    async run({ pool }: Ports, { id }) {
      const { name } = await getClient(pool, id)
      const changed = await setClientDisabled(pool, name, verb === 'disable')
      if (changed === null) throw noClient(name)
      return changed
    },
    render: renderClient,
    changes: announcedChange('admin.client_changed', `client ${verb}d`, 'client'),
    command: {
      words: `client ${verb}`,
      options: { id: '<name>' },
      print: ({ name }) => `Client ${name} is ${verb}d.`,
    },
  })
}

/** By its id, else by its name. */
export async function getClient(pool: Postgres, idOrName: string): Promise<Client> {
  const found = (await findClientById(pool, idOrName)) ?? (await findClient(pool, idOrName))
  if (found !== null) return found
  const named = idOrName.startsWith('cli_') ? idOrName : `named ${idOrName}`
  throw notFound(`There is no client ${named}.`, undefined, 'client list shows them')
}

/** The fields of a client that operators are shown. */
interface ListedClient {
  readonly id: string
  readonly name: string
  readonly disabled: boolean
  readonly createdAt: Date
}

/** A client as JSON, the same on the command line and over HTTP. */
function renderClient({ id, name, disabled, createdAt }: ListedClient) {
  return { id, name, disabled, created_at: createdAt.toISOString() }
}
