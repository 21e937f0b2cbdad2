import { createHmac } from 'node:crypto'

/** What proves that an alert is ours: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`. */
export const SIGNATURE_HEADER = 'x-tallygate-signature'

/** What stays the same over all attempts to deliver one alert to one receiver. */
export const DELIVERY_HEADER = 'x-tallygate-delivery'

/**
 * The value of {@link SIGNATURE_HEADER}. The time is signed too, so that what was recorded cannot be sent again later.
 *
 * @param secret Its UTF-8 bytes are the key.
 */
export function signAlert(secret: string, body: string, atMs: number): string {
  const seconds = Math.floor(atMs / 1000)
  const digest = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')
  return `t=${seconds},v1=${digest}`
}
