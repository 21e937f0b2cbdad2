import { type Mouth, sentValue } from './mouth.ts'

const HOUR_MS = 3_600_000

/**
 * Meter events: https://docs.stripe.com/api/billing/meter-event/create. Ids are known for "at least 24 hours", times may
 * be 35 days old, and only whole numbers are taken. A meter that sums takes negative ones, which its cancellations, of 24
 * hours only, are not needed for.
 */
export const STRIPE: Mouth = {
  url: 'https://api.stripe.com',
  eventsARequest: 1,
  remembersMs: 23 * HOUR_MS,
  oldestDays: 34,
  takesFractions: false,
  request(events, receiver) {
    const form = new URLSearchParams()
    for (const event of events) {
      form.set('event_name', event.meter)
      form.set('identifier', event.id)
      form.set('timestamp', `${Math.floor(event.at.getTime() / 1_000)}`)
      form.set('payload[stripe_customer_id]', event.customer)
      form.set('payload[value]', sentValue(event, receiver))
      if (event.model !== null) form.set('payload[model]', event.model)
    }
    return {
      path: '/v1/billing/meter_events',
      headers: {
        authorization: `Bearer ${receiver.secret}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: `${form}`,
    }
  },
  // It has a code of its own since 2025, and had only the sentence before.
  hasIt: (status, body) =>
    status === 400 && /duplicate_meter_event|An event already exists with identifier/.test(body),
}
