import { billedCloudEvent } from './billed-cloud-event.ts'
import type { Mouth } from './mouth.ts'

const DAY_MS = 86_400_000

/**
 * CloudEvents whose subject is the customer: https://openmeter.io/docs/concepts/usage-events. Its deduplication knows an
 * id for 32 days unless configured otherwise; a day less is reckoned with.
 */
export const OPENMETER: Mouth = {
  url: 'https://openmeter.cloud',
  eventsARequest: 100,
  remembersMs: 31 * DAY_MS,
  oldestDays: null,
  takesFractions: true,
  request: (events, receiver) => ({
    path: '/api/v1/events',
    headers: {
      authorization: `Bearer ${receiver.secret}`,
      'content-type': 'application/cloudevents-batch+json',
    },
    body: JSON.stringify(events.map((event) => billedCloudEvent(event, receiver))),
  }),
  // What it has already is taken once more, and left out by it.
  hasIt: () => false,
}
