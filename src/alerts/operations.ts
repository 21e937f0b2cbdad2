import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { randomBase62 } from '../domain/base62.ts'
import {
  shownChoice,
  shownCount,
  shownDocument,
  shownFlag,
  shownList,
  shownMoment,
  shownMomentOrNull,
  shownText,
  shownTextOrNull,
} from '../operations/answers.ts'
import { choiceField, clientField, formField, patternOf, textField } from '../operations/fields.ts'
import { type Chapter, changeOf, renderedOperation } from '../operations/operation.ts'
import type { Ports } from '../operations/ports.ts'
import { VALUE } from '../operations/read-input.ts'
import { invalid, noClient, notFound } from '../operations/refuse.ts'
import type { Postgres } from '../store/connection/postgres.ts'
import { renderAlert } from './alert-body.ts'
import { ALERT_FORMATS, DEFAULT_THRESHOLDS } from './alert-kinds.ts'
import {
  kindWithoutClient,
  MAX_PERCENT,
  MAX_THRESHOLDS,
  MAX_URL_LENGTH,
  SECRET,
  SECRET_FORM,
  SECRET_LENGTH,
  THRESHOLDS_FORM,
  URL_FORM,
  urlProblem,
} from './receiver-order.ts'
import {
  type AlertReceiver,
  addReceiver,
  findAddress,
  type NewReceiver,
  removeReceiver,
  selectReceivers,
} from './receivers.ts'
import { type SendResult, sendAlert } from './send-alert.ts'

const STATUS = z
  .number()
  .nullable()
  .meta({
    type: ['integer', 'null'],
    minimum: 100,
    maximum: 999,
    description: 'The status that the receiver answered. null: it answered nothing.',
  })
const ERROR = shownTextOrNull('Why it was not delivered. null: it was, or an attempt is under way.')

/** Kinds of alerts, as conditions of all chapters declare them. */
export type Alerted = readonly {
  readonly kind: string
  readonly meaning: string
  readonly ofClient: boolean
}[]

const receiverShape = (alerted: Alerted) => ({
  id: shownText('The id of the receiver, which begins with rcv_.'),
  url: shownText('Where alerts are posted, http or https.'),
  format: shownChoice(ALERT_FORMATS, 'How alerts are written.'),
  on: shownList(
    z.enum(alerted.map(({ kind }) => kind)),
    alerted.map(({ kind, meaning }) => `${kind}: ${meaning}`).join('; '),
  ),
  thresholds: shownList(
    z.number().meta({ type: 'integer', minimum: 1, maximum: 1_000 }),
    'Percent of a budget.',
  ),
  client: shownTextOrNull('The name of the only client that the alerts are about. null: all.'),
  created_at: shownMoment('The time at which it was added.'),
  last_delivery: z
    .strictObject({
      id: shownText('Header x-tallygate-delivery of every attempt.'),
      state: shownChoice(['waiting', 'delivered', 'given_up'], 'The state of the delivery.'),
      attempts: shownCount('Attempts that were begun.'),
      tried_at: shownMoment('The time of the last attempt.'),
      status: STATUS,
      error: ERROR,
      delivered_at: shownMomentOrNull('null: it is not delivered yet.'),
    })
    .nullable(),
})

export type ReceiverSchema = ReturnType<typeof shownReceiver>
const shownReceiver = (alerted: Alerted) => shownDocument('Receiver', receiverShape(alerted))

/** What receivers may ask for. */
function kindsField(kinds: readonly string[]) {
  const rule = `must be some of ${kinds.join(', ')}`
  return z
    .array(z.enum(kinds, rule), rule)
    .min(1, 'must name something')
    .meta({ description: `What the alerts are about: ${kinds.join(',')}.`, [VALUE]: 'kinds' })
}

const PERCENT = z.int().min(1).max(MAX_PERCENT)
const PERCENTS_RULE = `must be ${THRESHOLDS_FORM}`

const addAlerts = (alerted: Alerted) =>
  renderedOperation({
    name: 'alerts.add',
    summary: 'Sends alerts to a URL. The secret that signs them is shown this once.',
    role: 'write',
    http: { method: 'POST', path: '/alerts', id: 'addReceiver', status: 201, body: 'NewReceiver' },
    input: {
      url: z
        .string('must be a text')
        .superRefine((text, context) => {
          const problem = urlProblem(text)
          if (problem !== null) context.addIssue({ code: 'custom', message: problem })
        })
        .meta({
          description: 'Where alerts are posted, http or https.',
          pattern: patternOf(URL_FORM),
          maxLength: MAX_URL_LENGTH,
          [VALUE]: 'url',
        }),
      on: kindsField(alerted.map(({ kind }) => kind)),
      format: choiceField(ALERT_FORMATS, 'How alerts are written.', 'format').default('generic'),
      thresholds: z
        .array(z.number(PERCENTS_RULE), PERCENTS_RULE)
        .min(1, PERCENTS_RULE)
        .max(MAX_THRESHOLDS, PERCENTS_RULE)
        .refine((all) => all.every((one) => PERCENT.safeParse(one).success), PERCENTS_RULE)
        .default([...DEFAULT_THRESHOLDS])
        .meta({
          description: 'Percents of budgets that are alerted of.',
          items: { type: 'integer', minimum: 1, maximum: MAX_PERCENT },
          [VALUE]: 'percents',
        }),
      client: clientField(
        'The name of the only client that the alerts are about. Without it: all.',
      ).optional(),
      secret: formField(
        SECRET,
        `must be ${SECRET_FORM}`,
        { description: 'What signs the alerts, in place of a random text.' },
        SECRET_LENGTH,
      ).optional(),
    },
    answer: shownDocument('MadeReceiver', {
      ...receiverShape(alerted),
      secret: shownText('What signs the alerts, unless it was sent.').optional(),
    }),
    gives: 'The receiver, and what signs its alerts, shown this once.',
    errors: ['not_found'],
    async run({ pool }: Ports, asked, who) {
      const { url, format, client = null, secret = null } = asked
      const thresholds = [...new Set(asked.thresholds)].sort((a, b) => a - b)
      const order = { url, format, client, secret, thresholds, kinds: [...new Set(asked.on)] }
      const misfit = kindWithoutClient(
        order,
        alerted.flatMap(({ kind, ofClient }) => (ofClient ? kind : [])),
      )
      if (misfit !== null) throw invalid('client', `does not go with ${misfit}, which is about no single one`)
      const added = await addReceiver(pool, order, who)
      if (added === null) throw noClient(client ?? '')
      return added
    },
    render: (added: NewReceiver, { secret }) =>
      secret === undefined ? renderNewReceiver(added) : renderReceiver(added),
    changes: changeOf('admin.receiver_added', 'receiver of alerts added', 'receiver'),
    command: {
      words: 'alerts add',
      options: { secret: '--secret-file <file>' },
      print({ id, kinds, secret }, asked) {
        const shown =
          asked.secret === undefined ? `${secret}\n\nIt signs the alerts, and is shown this once. ` : ''
        return `${shown}${id} gets ${kinds.join(', ')}. Try it: alerts test ${id}`
      },
    },
  })

const listAlerts = (receiver: ReceiverSchema) =>
  renderedOperation({
    name: 'alerts.list',
    summary: 'Shows who gets alerts, and how the last delivery went.',
    role: 'read',
    http: { method: 'GET', path: '/alerts', id: 'listReceivers' },
    input: {},
    answer: shownList(receiver),
    gives: 'The receivers, oldest first.',
    run: ({ pool }: Ports) => selectReceivers(pool),
    render: (receivers: readonly AlertReceiver[]) => receivers.map(renderReceiver),
    command: {
      words: 'alerts list',
      print: {
        empty: 'There is no receiver yet: alerts add --url URL --on budget',
        columns: [
          { heading: 'ID', cell: ({ id }) => id },
          { heading: 'ON', cell: ({ kinds }) => kinds.join(',') },
          { heading: 'CLIENT', cell: ({ client }) => client ?? 'all' },
          {
            heading: 'THRESHOLDS',
            cell: ({ kinds, thresholds }) => (kinds.includes('budget') ? `${thresholds.join(',')} %` : ''),
          },
          { heading: 'FORMAT', cell: ({ format }) => format },
          { heading: 'LAST DELIVERY', cell: lastText },
          { heading: 'URL', cell: ({ url }) => url },
        ],
      },
    },
  })

const RECEIVER_ID = textField('The id of the receiver, as alerts list shows it.', 'id')

const removeAlerts = (receiver: ReceiverSchema) =>
  renderedOperation({
    name: 'alerts.remove',
    summary: 'Sends no more alerts there. Those under way are dropped.',
    role: 'write',
    http: { method: 'DELETE', path: '/alerts/{id}', id: 'removeReceiver' },
    input: { id: RECEIVER_ID },
    answer: receiver,
    gives: 'The receiver as it was.',
    errors: ['not_found'],
    async run({ pool }: Ports, { id }, who) {
      const removed = await removeReceiver(pool, id, who)
      if (removed === null) throw noReceiver(id)
      return removed
    },
    render: renderReceiver,
    changes: changeOf('admin.receiver_removed', 'receiver of alerts removed', 'receiver'),
    command: { words: 'alerts remove', print: ({ id }) => `${id} gets no more alerts.` },
  })

const testAlerts = renderedOperation({
  name: 'alerts.test',
  summary: 'Sends a signed sample now, once, and says what came back.',
  role: 'write',
  http: { method: 'POST', path: '/alerts/{id}/test', id: 'testReceiver' },
  input: { id: RECEIVER_ID },
  answer: shownDocument('SentSample', {
    delivery: shownText('The header x-tallygate-delivery of the sample.'),
    delivered: shownFlag('The receiver answered with 2xx.'),
    status: STATUS,
    error: ERROR,
  }),
  gives: 'What came back.',
  errors: ['not_found'],
  async run({ pool }: Ports, { id }) {
    const tested = await testReceiver(pool, id)
    if (tested === null) throw noReceiver(id)
    return tested
  },
  render: ({ delivery, result }: TestedReceiver) => renderSendResult(delivery, result),
  command: {
    words: 'alerts test',
    print: ({ result }) =>
      result.kind === 'delivered' ? `It answered ${result.status}.` : `Not delivered: ${result.error}.`,
    exitCode: ({ result }) => (result.kind === 'delivered' ? 0 : 1),
  },
})

function noReceiver(id: string) {
  return notFound(`There is no receiver ${id}.`, undefined, 'alerts list shows them')
}

function lastText({ lastDelivery: last }: AlertReceiver): string {
  if (last === null) return 'none yet'
  const at = `${last.triedAt.toISOString().slice(0, 16)}Z`
  return last.state === 'delivered' ? `${at} delivered` : `${at} ${last.error ?? 'under way'}`
}

export function alertsChapter(alerted: Alerted): Chapter<Ports> {
  const receiver = shownReceiver(alerted)
  return {
    words: 'alerts',
    about: 'Who learns of spending and of what goes wrong.',
    operations: [addAlerts(alerted), listAlerts(receiver), removeAlerts(receiver), testAlerts],
  }
}

/** A sample that was sent, and what came back. */
interface TestedReceiver {
  /** The sample's id as a delivery. */
  readonly delivery: string
  readonly result: SendResult
}

/** Sends a signed sample of the type `test` now, once. It is kept nowhere. `null`: there is no such receiver. */
export async function testReceiver(pool: Postgres, id: string): Promise<TestedReceiver | null> {
  const address = await findAddress(pool, id)
  if (address === null) return null
  const delivery = `dlv_${randomUUID().replaceAll('-', '')}`
  const sample = {
    id: `alt_${randomBase62(20)}`,
    kind: 'test',
    client: null,
    at: new Date(),
    payload: { message: 'This is a test of alerts: nothing has happened.' },
  }
  return { delivery, result: await sendAlert(address, delivery, renderAlert(sample, address.format)) }
}

/** A receiver as JSON, without its secret; the same on the command line and over HTTP. */
function renderReceiver({ lastDelivery: last, ...receiver }: AlertReceiver) {
  const { id, url, format, kinds, thresholds, client, createdAt } = receiver
  return {
    id,
    url,
    format,
    on: kinds,
    thresholds,
    client,
    created_at: createdAt.toISOString(),
    last_delivery:
      last === null
        ? null
        : {
            id: last.id,
            state: last.state,
            attempts: last.attempts,
            tried_at: last.triedAt.toISOString(),
            status: last.status,
            error: last.error,
            delivered_at: last.deliveredAt?.toISOString() ?? null,
          },
  }
}

/** A receiver at its making, as JSON: the only document that holds its secret. */
function renderNewReceiver(receiver: NewReceiver) {
  return { ...renderReceiver(receiver), secret: receiver.secret }
}

/** What came back from a sample, as JSON. */
function renderSendResult(delivery: string, result: SendResult) {
  return {
    delivery,
    delivered: result.kind === 'delivered',
    status: result.status,
    error: result.kind === 'delivered' ? null : result.error,
  }
}
