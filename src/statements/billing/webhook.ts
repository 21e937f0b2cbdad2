import { SIGNATURE_HEADER, signAlert } from '../../alerts/send-alert.ts'
import { billedCloudEvent } from './billed-cloud-event.ts'
import type { Mouth } from './mouth.ts'

/**
 * A batch of CloudEvents, signed as alerts are. An event has what its sum changed by and what it comes to, so that a
 * receiver may add the one under its id, or put the other in place of what it had.
 */
export const WEBHOOK: Mouth = {
  url: null,
  eventsARequest: 100,
  remembersMs: null,
  oldestDays: null,
  takesFractions: true,
  request(events, receiver, nowMs) {
    const body = JSON.stringify(events.map((event) => billedCloudEvent(event, receiver)))
    return {
      path: '',
      headers: {
        'content-type': 'application/cloudevents-batch+json',
        [SIGNATURE_HEADER]: signAlert(receiver.secret, body, nowMs),
      },
      body,
    }
  },
  hasIt: (status) => status === 409,
}
