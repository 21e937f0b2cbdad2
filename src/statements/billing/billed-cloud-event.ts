import { type BillingEvent, type ReceiverSettings, sentValue } from './mouth.ts'

/** A change of a sum as a CloudEvent 1.0. Its type is the meter, its subject the customer. */
export function billedCloudEvent(event: BillingEvent, receiver: ReceiverSettings) {
  return {
    specversion: '1.0',
    id: event.id,
    source: 'tallygate',
    type: event.meter,
    subject: event.customer,
    time: event.at.toISOString(),
    datacontenttype: 'application/json' as const,
    data: {
      value: sentValue(event, receiver),
      sequence: event.sequence,
      change: event.change,
      total: event.total,
      day: event.day,
      client: event.client,
      ...(event.model === null ? {} : { model: event.model }),
      ...(event.subscription === null ? {} : { subscription: event.subscription }),
    },
  }
}
