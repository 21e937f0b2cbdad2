import { MAX_PAGE_LIMIT } from '../../domain/documents/page-limit.ts'
import { periodOf } from '../../domain/period.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownFlag,
  shownList,
  shownText,
} from '../../operations/answers.ts'
import { clientField, countField, daysField, flagField, textField } from '../../operations/fields.ts'
import { operation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { noClient } from '../../operations/refuse.ts'
import { findClient } from '../clients.ts'
import { selectNetworks } from '../networks/network-table.ts'

const KEY_NETWORK = shownDocument('KeyNetwork', {
  client: shownText('The name of the client.'),
  key_id: shownText('The id of the key.'),
  key_name: shownText('Its label.'),
  network: shownText('A /24 or a /48; (other): beyond the 16 that are kept apart of a key and day.'),
  first_day: shownDay('The first of the days asked for on which it came from there.'),
  last_day: shownDay('The last of them.'),
  calls: shownCount('Calls that came from there.'),
  new: shownFlag('The key was used before these days, and not from there.'),
})

const DEFAULT_DAYS = 7
const DEFAULT_ROWS = 100

export const listNetworksOperation = operation({
  name: 'keys.networks',
  summary: 'Shows the networks that keys are used from, new ones first.',
  description: 'Nothing is kept where KEY_NETWORKS is off. Days older than 90 are pruned.',
  role: 'read',
  http: { method: 'GET', path: '/keys/networks', id: 'listKeyNetworks' },
  input: {
    client: clientField().optional(),
    key: textField('Only this key, by its id.', 'id').optional(),
    days: daysField(DEFAULT_DAYS),
    new: flagField('Only networks that the key was not used from before these days.').default(false),
    limit: countField(MAX_PAGE_LIMIT, 'At most so many rows.').default(DEFAULT_ROWS),
  },
  answer: shownList(KEY_NETWORK),
  gives: 'The networks.',
  errors: ['not_found'],
  isReport: true,
  async run({ pool, read, now }: Ports, { client = null, key = null, days, new: onlyNew, limit }) {
    if (client !== null && (await findClient(pool, client)) === null) throw noClient(client)
    const scope = { ...periodOf(days, now()), client, keyId: key, onlyNew, limit }
    const found = await read((from) => selectNetworks(from, scope))
    return found.map((one) => ({
      client: one.client,
      key_id: one.keyId,
      key_name: one.keyName,
      network: one.network,
      first_day: one.firstDay,
      last_day: one.lastDay,
      calls: Number(one.calls),
      new: one.isNew,
    }))
  },
  command: {
    words: 'key networks',
    print: {
      empty: 'No key was used in these days, or networks are not kept.',
      columns: [
        { heading: 'CLIENT', cell: ({ client }) => client },
        { heading: 'KEY', cell: ({ key_name: name, key_id: id }) => (name === '' ? id : name) },
        { heading: 'NETWORK', cell: ({ network }) => network },
        { heading: 'NEW', cell: (row) => (row.new ? 'new' : '') },
        { heading: 'FIRST', cell: ({ first_day: day }) => day },
        { heading: 'LAST', cell: ({ last_day: day }) => day },
        { heading: 'CALLS', align: 'right', cell: ({ calls }) => `${calls}` },
      ],
    },
  },
})
