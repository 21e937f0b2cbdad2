import { type Mouth, sentValue } from './mouth.ts'

/**
 * Events of a subscription: https://getlago.com/docs/api-reference/events/batch. A `transaction_id` is taken once for
 * good; with ClickHouse below, together with its time, which is the same at every attempt. A batch with one event that
 * cannot be taken is refused as a whole.
 */
export const LAGO: Mouth = {
  url: 'https://api.getlago.com',
  eventsARequest: 100,
  remembersMs: null,
  oldestDays: null,
  takesFractions: true,
  request: (events, receiver) => ({
    path: '/api/v1/events/batch',
    headers: { authorization: `Bearer ${receiver.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      events: events.map((event) => ({
        transaction_id: event.id,
        external_subscription_id: event.subscription ?? '',
        code: event.meter,
        timestamp: `${event.at.getTime() / 1_000}`,
        properties: {
          value: sentValue(event, receiver),
          ...(event.model === null ? {} : { model: event.model }),
        },
      })),
    }),
  }),
  hasIt: (status, body) => status === 422 && body.includes('value_already_exist'),
}
