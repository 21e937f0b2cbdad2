import type { AlertReceiver, NewReceiver } from './receivers.ts'
import type { SendResult } from './send-alert.ts'

/** A receiver as JSON, without its secret; the same on the command line and over HTTP. */
export function renderReceiver({ lastDelivery: last, ...receiver }: AlertReceiver) {
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
export function renderNewReceiver(receiver: NewReceiver) {
  return { ...renderReceiver(receiver), secret: receiver.secret }
}

/** What came back from a sample, as JSON. */
export function renderSendResult(delivery: string, result: SendResult) {
  return {
    delivery,
    delivered: result.kind === 'delivered',
    status: result.status,
    error: result.kind === 'delivered' ? null : result.error,
  }
}
