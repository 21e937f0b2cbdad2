import { utcDayOf } from '../../domain/utc-day.ts'
import { findClient } from '../../keys/clients.ts'
import {
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { clientField, dayField, lineField, textField } from '../../operations/fields.ts'
import { operation, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { noClient, notFound } from '../../operations/refuse.ts'
import { type BillingCustomer, putCustomer, removeCustomer, selectCustomers } from './billing-state.ts'

export const RECEIVER = textField(
  'The name of the billing system, as billing of TALLYGATE_CONFIG has it.',
  'name',
)
const CLIENT = clientField('The name of the client.')

const CUSTOMER = shownDocument('BillingCustomer', {
  receiver: shownText('The name of the billing system.'),
  client: shownText('The name of the client.'),
  customer: shownText('Its id there.'),
  subscription: shownTextOrNull('The id of its subscription there. null: none is needed.'),
  from: shownDay('The first UTC day that is sent.'),
})
const renderCustomer = ({ clientId: _, ...shown }: BillingCustomer) => shown

export const mapClient = renderedOperation({
  name: 'billing.map',
  summary: 'Says who a client is in a billing system. From then on its sums are sent there.',
  description:
    'A client that is mapped already gets the new ids for what is sent next. Its first day can only become earlier.',
  role: 'write',
  http: {
    method: 'PUT',
    path: '/billing/{receiver}/customers/{client}',
    id: 'mapBillingCustomer',
    body: 'NewBillingCustomer',
  },
  input: {
    receiver: RECEIVER,
    client: CLIENT,
    customer: lineField('The id of the customer there.'),
    subscription: lineField(
      'The id of the subscription there, for systems that bill subscriptions.',
    ).optional(),
    from: dayField('The first UTC day that is sent. Without it: today.').optional(),
  },
  answer: CUSTOMER,
  gives: 'The mapping.',
  errors: ['not_found'],
  async run({ pool, now }: Ports, { receiver, client: name, customer, subscription = null, from }) {
    const client = await findClient(pool, name)
    if (client === null) throw noClient(name)
    await putCustomer(pool, {
      receiver,
      clientId: client.id,
      customer,
      subscription,
      from: from ?? utcDayOf(now()),
    })
    const mapped = (await selectCustomers(pool, receiver)).find(({ clientId }) => clientId === client.id)
    if (mapped === undefined) throw noClient(name)
    return mapped
  },
  render: renderCustomer,
  changes: {
    event: 'admin.billing_mapped',
    says: 'client mapped to a customer of a billing system',
    log: ({ receiver, clientId }) => ({ receiver, client: clientId }),
  },
  command: {
    words: 'billing map',
    options: { receiver: '<receiver>', client: '--client <name>' },
    print: ({ receiver, client, customer, from }) =>
      `Sums of ${client} go to ${receiver} as ${customer}, from ${from} on.`,
  },
})

export const unmapClient = operation({
  name: 'billing.unmap',
  summary: 'Sends no more sums of a client to a billing system. Those that wait are dropped.',
  role: 'write',
  http: { method: 'DELETE', path: '/billing/{receiver}/customers/{client}', id: 'unmapBillingCustomer' },
  input: { receiver: RECEIVER, client: CLIENT },
  answer: shownDocument('UnmappedBillingCustomer', {
    receiver: shownText('The name of the billing system.'),
    client: shownText('The name of the client.'),
    dropped: shownCount('Events that waited, and are not sent.'),
  }),
  gives: 'What was dropped.',
  errors: ['not_found'],
  async run({ pool }: Ports, { receiver, client: name }) {
    const client = await findClient(pool, name)
    if (client === null) throw noClient(name)
    const dropped = await removeCustomer(pool, receiver, client.id)
    if (dropped === null)
      throw notFound(`${name} is no customer of ${receiver}.`, 'client', 'billing customers shows them')
    return { receiver, client: name, dropped }
  },
  changes: {
    event: 'admin.billing_unmapped',
    says: 'client no longer sent to a billing system',
    log: ({ receiver, dropped }) => ({ receiver, dropped }),
  },
  command: {
    words: 'billing unmap',
    options: { receiver: '<receiver>', client: '--client <name>' },
    print: ({ receiver, client, dropped }) =>
      `Sums of ${client} go to ${receiver} no more. ${dropped} events that waited are dropped.`,
  },
})

export const listCustomers = renderedOperation({
  name: 'billing.customers',
  summary: 'Shows who clients are in billing systems.',
  role: 'read',
  http: { method: 'GET', path: '/billing/customers', id: 'listBillingCustomers' },
  input: { receiver: RECEIVER.optional() },
  answer: shownList(CUSTOMER),
  gives: 'The mappings, by system and client.',
  run: ({ pool }: Ports, { receiver }) => selectCustomers(pool, receiver ?? null),
  render: (customers: readonly BillingCustomer[]) => customers.map(renderCustomer),
  command: {
    words: 'billing customers',
    print: {
      empty: 'No client is mapped: billing map RECEIVER --client NAME --customer ID',
      columns: [
        { heading: 'RECEIVER', cell: ({ receiver }) => receiver },
        { heading: 'CLIENT', cell: ({ client }) => client },
        { heading: 'CUSTOMER', cell: ({ customer }) => customer },
        { heading: 'SUBSCRIPTION', cell: ({ subscription }) => subscription ?? '' },
        { heading: 'FROM', cell: ({ from }) => from },
      ],
    },
  },
})
