import { z } from 'zod'
import {
  shownChoice,
  shownCount,
  shownDay,
  shownDocument,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../../operations/answers.ts'
import { choiceField, countField, flagField } from '../../operations/fields.ts'
import { type Chapter, operation, renderedOperation } from '../../operations/operation.ts'
import type { Ports } from '../../operations/ports.ts'
import { VALUE } from '../../operations/read-input.ts'
import { conflict, invalid, notFound } from '../../operations/refuse.ts'
import { type BillingState, dropReceiver, selectBillingStates } from './billing-state.ts'
import { listCustomers, mapClient, RECEIVER, unmapClient } from './customer-operations.ts'
import { EVENT_STATES, type ListedEvent, retryRefused, selectEvents, settleDoubtful } from './event-table.ts'

const MOST_LISTED = 1_000
const DEFAULT_LISTED = 100

const listReceivers = renderedOperation({
  name: 'billing.list',
  summary: 'Shows billing systems that sums of usage are sent to, and how far each is.',
  role: 'read',
  http: { method: 'GET', path: '/billing', id: 'listBilling' },
  input: {},
  answer: shownList(
    shownDocument('BillingSystem', {
      receiver: shownText('Its name.'),
      kind: shownText('The kind of system.'),
      clients: shownCount('Clients that are mapped to a customer there.'),
      sent: shownCount('Events that it took.'),
      sent_at: shownMomentOrNull('The time of the last of them. null: there is none.'),
      waiting: shownCount('Events that it does not have yet.'),
      oldest_at: shownMomentOrNull('The time at which the oldest of them was made. null: none waits.'),
      refused: shownCount('Events that it refused.'),
      doubtful: shownCount('Events that may have arrived, and whose ids it knows no longer.'),
      problem: shownTextOrNull('What keeps events from it. null: nothing.'),
    }),
  ),
  gives: 'The systems, by name.',
  run: ({ pool }: Ports) => selectBillingStates(pool),
  render: (states: readonly BillingState[]) =>
    states.map((state) => ({
      receiver: state.receiver,
      kind: state.kind,
      clients: state.clients,
      sent: state.sentEvents,
      sent_at: state.sentAt?.toISOString() ?? null,
      waiting: state.waitingEvents,
      oldest_at: state.oldestAt?.toISOString() ?? null,
      refused: state.refusedEvents,
      doubtful: state.doubtfulEvents,
      problem: state.problem,
    })),
  command: {
    words: 'billing list',
    print: {
      empty: 'No worker has a billing system: billing in TALLYGATE_CONFIG names them.',
      columns: [
        { heading: 'RECEIVER', cell: ({ receiver }) => receiver },
        { heading: 'KIND', cell: ({ kind }) => kind },
        { heading: 'CLIENTS', align: 'right', cell: ({ clients }) => `${clients}` },
        { heading: 'SENT', align: 'right', cell: ({ sentEvents }) => `${sentEvents}` },
        { heading: 'WAITING', align: 'right', cell: ({ waitingEvents }) => `${waitingEvents}` },
        { heading: 'REFUSED', align: 'right', cell: ({ refusedEvents }) => `${refusedEvents}` },
        { heading: 'DOUBTFUL', align: 'right', cell: ({ doubtfulEvents }) => `${doubtfulEvents}` },
        { heading: 'PROBLEM', cell: ({ problem }) => problem ?? '' },
      ],
    },
  },
})

const listEvents = renderedOperation({
  name: 'billing.events',
  summary: 'Shows changes of sums on their way to billing systems, the newest first.',
  role: 'read',
  http: { method: 'GET', path: '/billing/events', id: 'listBillingEvents' },
  input: {
    receiver: RECEIVER.optional(),
    state: choiceField(EVENT_STATES, 'Only events in this state.', 'state').optional(),
    limit: countField(MOST_LISTED, `At most so many. Without it: ${DEFAULT_LISTED}.`).optional(),
  },
  answer: shownList(
    shownDocument('BillingEvent', {
      number: shownText('Its number here.'),
      id: shownText('What the receiver knows it by.'),
      receiver: shownText('The name of the billing system.'),
      state: shownChoice(
        EVENT_STATES,
        'refused: it was refused. doubtful: it may have arrived, and its id is known there no longer. replaced: a later total says it all.',
      ),
      client: shownText('The name of the client.'),
      customer: shownText("The client's id there. Empty: it is mapped no more."),
      meter: shownText('The meter, as the receiver names it.'),
      model: shownTextOrNull('null: of all models.'),
      day: shownDay('The UTC day whose sum it changes.'),
      change: shownText('What the sum changed by, an exact decimal.'),
      total: shownText('What the sum comes to with it.'),
      at: shownMoment('The time that the receiver gets.'),
      made_at: shownMoment('The time at which the change was found.'),
      attempts: shownCount('Attempts that were begun.'),
      error: shownTextOrNull('Why it was refused. null: it was not.'),
    }),
  ),
  gives: 'The events.',
  run: ({ pool }: Ports, { receiver, state, limit = DEFAULT_LISTED }) =>
    selectEvents(pool, { receiver: receiver ?? null, state: state ?? null, limit }),
  render: (events: readonly ListedEvent[]) =>
    events.map(({ subscription: _, sequence: __, madeAt, at, ...event }) => ({
      ...event,
      at: at.toISOString(),
      made_at: madeAt.toISOString(),
    })),
  command: {
    words: 'billing events',
    print: {
      empty: 'There is no such event.',
      columns: [
        { heading: 'NUMBER', align: 'right', cell: ({ number }) => number },
        { heading: 'RECEIVER', cell: ({ receiver }) => receiver },
        { heading: 'STATE', cell: ({ state }) => state },
        { heading: 'CLIENT', cell: ({ client }) => client },
        { heading: 'DAY', cell: ({ day }) => day },
        { heading: 'METER', cell: ({ meter }) => meter },
        { heading: 'MODEL', cell: ({ model }) => model ?? 'all' },
        { heading: 'CHANGE', align: 'right', cell: ({ change }) => change },
        { heading: 'TOTAL', align: 'right', cell: ({ total }) => total },
        { heading: 'ID', cell: ({ id }) => id },
        { heading: 'ERROR', cell: ({ error }) => error ?? '' },
      ],
    },
  },
})

const retryEvents = operation({
  name: 'billing.retry',
  summary: 'Sends events again that a billing system refused.',
  role: 'write',
  http: { method: 'POST', path: '/billing/{receiver}/retry', id: 'retryBilling' },
  input: { receiver: RECEIVER },
  answer: shownDocument('RetriedBilling', {
    receiver: shownText('The name of the billing system.'),
    events: shownCount('Events that wait again.'),
  }),
  gives: 'What is sent again.',
  async run({ pool }: Ports, { receiver }) {
    return { receiver, events: await retryRefused(pool, receiver) }
  },
  changes: {
    event: 'admin.billing_retried',
    says: 'events that a billing system refused are sent again',
    log: ({ receiver, events }) => ({ receiver, events }),
  },
  command: {
    words: 'billing retry',
    options: { receiver: '<receiver>' },
    print: ({ receiver, events }) => `${events} events are sent to ${receiver} again.`,
  },
})

const settleEvent = operation({
  name: 'billing.settle',
  summary: 'Says whether a doubtful event has arrived. One that was lost is sent again.',
  role: 'write',
  http: {
    method: 'POST',
    path: '/billing/events/{number}/settle',
    id: 'settleBillingEvent',
    body: 'BillingEventFate',
  },
  input: {
    number: z
      .string('must be a text')
      .regex(/^[1-9][0-9]{0,17}$/, 'must be the number of an event')
      .meta({ description: 'The number of the event, as billing events shows it.', [VALUE]: 'number' }),
    arrived: flagField('The receiver has it.').default(false),
    lost: flagField('The receiver does not have it.').default(false),
  },
  check({ arrived, lost }) {
    if (arrived === lost) throw invalid('arrived', 'or lost must be given, and not both')
  },
  answer: shownDocument('SettledBillingEvent', {
    number: shownText('The number of the event.'),
    state: shownChoice(['sent', 'waiting'], 'waiting: it is sent again.'),
  }),
  gives: 'What becomes of it.',
  errors: ['not_found'],
  async run({ pool }: Ports, { number, arrived }) {
    if (!(await settleDoubtful(pool, number, arrived)))
      throw notFound(
        `There is no doubtful event ${number}.`,
        'number',
        'billing events --state doubtful shows them',
      )
    return { number, state: arrived ? ('sent' as const) : ('waiting' as const) }
  },
  changes: {
    event: 'admin.billing_settled',
    says: 'doubtful event of a billing system settled',
    log: ({ number, state }) => ({ number, state }),
  },
  command: {
    words: 'billing settle',
    options: { number: '<number>' },
    print: ({ number, state }) =>
      state === 'sent' ? `Event ${number} counts as sent.` : `Event ${number} is sent again.`,
  },
})

const turnOff = operation({
  name: 'billing.off',
  summary: 'Ends a billing system that workers have no longer.',
  description:
    'Its mappings and what waits are deleted. What it was sent stays known: if it is configured again, it gets what changed since.',
  role: 'admin',
  http: { method: 'POST', path: '/billing/{receiver}/off', id: 'turnBillingOff' },
  input: { receiver: RECEIVER },
  answer: shownDocument('BillingOff', {
    receiver: shownText('The name of the billing system.'),
    dropped: shownCount('Events that waited, and are not sent.'),
  }),
  gives: 'What was dropped.',
  errors: ['not_found', 'conflict'],
  async run({ pool }: Ports, { receiver }) {
    const dropped = await dropReceiver(pool, receiver)
    if (dropped === null)
      throw notFound(`There is no billing system ${receiver}.`, 'receiver', 'billing list shows them')
    if (dropped === 'held')
      throw conflict(
        `A worker sends to ${receiver}: take it out of billing in TALLYGATE_CONFIG, start the workers again, and ask 30 s later.`,
      )
    return { receiver, dropped }
  },
  changes: {
    event: 'admin.billing_off',
    says: 'billing system ended',
    log: ({ receiver, dropped }) => ({ receiver, dropped }),
  },
  command: {
    words: 'billing off',
    options: { receiver: '<receiver>' },
    print: ({ receiver, dropped }) =>
      `Nothing is sent to ${receiver} any more. ${dropped} events that waited are dropped.`,
  },
})

export const BILLING_CHAPTER: Chapter<Ports> = {
  words: 'billing',
  about: 'Sums of usage on their way to billing systems.',
  operations: [
    listReceivers,
    mapClient,
    unmapClient,
    listCustomers,
    listEvents,
    retryEvents,
    settleEvent,
    turnOff,
  ],
}
