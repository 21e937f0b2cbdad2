import { ALERT_KINDS, ALERTS } from '../../doctor/conditions.ts'
import { ALERT_FORMATS, DEFAULT_THRESHOLDS } from '../../limits/alerts/alert-kinds.ts'
import { count, list, nullableText, object, text, time, timeOrNull } from './schema-parts.ts'
import type { Schema } from './types.ts'

const STATUS: Schema = {
  type: ['integer', 'null'],
  minimum: 100,
  maximum: 999,
  description: 'What the receiver answered; null: nothing.',
}
const ERROR = nullableText('Why it was not delivered; null: it was, or an attempt is under way.')

const RECEIVER: Readonly<Record<string, Schema>> = {
  id: text('Begins with rcv_.'),
  url: text('Where alerts are posted, http or https.'),
  format: { enum: ALERT_FORMATS, description: 'How they are written.', default: 'generic' },
  on: {
    ...list({ enum: ALERT_KINDS }),
    minItems: 1,
    description: ALERTS.map(({ kind, meaning }) => `${kind}: ${meaning}`).join('; '),
  },
  thresholds: {
    ...list({ type: 'integer', minimum: 1, maximum: 1_000 }),
    minItems: 1,
    description: 'Percent of a budget.',
    default: DEFAULT_THRESHOLDS,
  },
}
const SHOWN: Readonly<Record<string, Schema>> = {
  ...RECEIVER,
  client: nullableText('The name of the only client that they are about; null: all.'),
  created_at: time('When it was added.'),
  last_delivery: {
    anyOf: [
      object({
        id: text('Header x-tallygate-delivery of every attempt.'),
        state: { enum: ['waiting', 'delivered', 'given_up'] },
        attempts: count('Attempts that were begun.'),
        tried_at: time('When the last one was.'),
        status: STATUS,
        error: ERROR,
        delivered_at: timeOrNull('null: not yet.'),
      }),
      { type: 'null' },
    ],
  },
}
const SECRET = text('What signs the alerts.', { minLength: 32, maxLength: 200 })

export const ALERT_SCHEMAS: Readonly<Record<string, Schema>> = {
  Receiver: object(SHOWN),
  MadeReceiver: object({ ...SHOWN, secret: SECRET }, ['secret']),
  NewReceiver: object(
    {
      url: RECEIVER.url ?? {},
      on: RECEIVER.on ?? {},
      format: RECEIVER.format ?? {},
      thresholds: RECEIVER.thresholds ?? {},
      client: text('The name of the only client that they are about; without it, all.'),
      secret: SECRET,
    },
    ['format', 'thresholds', 'client', 'secret'],
  ),
  SentSample: object({
    delivery: text('Its header x-tallygate-delivery.'),
    delivered: { type: 'boolean', description: 'The receiver answered with 2xx.' },
    status: STATUS,
    error: ERROR,
  }),
}
