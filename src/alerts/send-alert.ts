import { createHmac } from 'node:crypto'
import type { ReceiverAddress } from './receivers.ts'

/** What came of one attempt. */
export type SendResult =
  | { readonly kind: 'delivered'; readonly status: number }
  /** May succeed later. `status` is `null` where there was no answer. */
  | { readonly kind: 'failed'; readonly status: number | null; readonly error: string }
  /** The receiver says that it is no longer there. */
  | { readonly kind: 'gone'; readonly status: number; readonly error: string }

/** For all of it: connecting, sending and the head of the answer. */
const SEND_MS = 10_000
const GONE = 410
const MAX_ERROR_LENGTH = 200

/** What proves that an alert is ours: `t=<unix seconds>,v1=<hex HMAC-SHA256 of "t.body">`. */
const SIGNATURE_HEADER = 'x-tallygate-signature'

/** What stays the same over all attempts to deliver one alert to one receiver. */
const DELIVERY_HEADER = 'x-tallygate-delivery'

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

/**
 * Posts a body to a receiver, signed as of now. Redirects are not followed: an alert goes where the operator said. Of
 * the answer only the status is looked at. Through the proxy that HTTPS_PROXY names, where it is set. Never throws.
 *
 * @param delivery What the receiver may know a repeated attempt by.
 */
export async function sendAlert(
  { url, secret }: ReceiverAddress,
  delivery: string,
  body: string,
): Promise<SendResult> {
  const { EnvHttpProxyAgent, request } = await import('undici') // 14 MB that a worker without receivers never needs
  const agent = new EnvHttpProxyAgent({ connect: { timeout: SEND_MS } })
  const signal = AbortSignal.timeout(SEND_MS)
  try {
    const answer = await request(url, {
      method: 'POST',
      dispatcher: agent,
      signal,
      headers: {
        'content-type': 'application/json',
        'user-agent': 'tallygate',
        [DELIVERY_HEADER]: delivery,
        [SIGNATURE_HEADER]: signAlert(secret, body, Date.now()),
      },
      body,
    })
    // Its body is ended with the connection, however long it is.
    answer.body.on('error', () => {})
    return resultOf(answer.statusCode)
  } catch (error) {
    const problem = signal.aborted ? `no answer within ${SEND_MS / 1000} s` : problemOf(error)
    return { kind: 'failed', status: null, error: problem }
  } finally {
    await agent.destroy()
  }
}

function resultOf(status: number): SendResult {
  if (status >= 200 && status < 300) return { kind: 'delivered', status }
  const error = `it answered ${status}`
  if (status === GONE) return { kind: 'gone', status, error }
  const isRedirect = status >= 300 && status < 400
  return { kind: 'failed', status, error: isRedirect ? `${error}: redirects are not followed` : error }
}

function problemOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '')
    return [...new Set(error.errors.map(problemOf))].join('; ')
  const text = error instanceof Error ? error.message : String(error)
  return text.replace(/\s+/g, ' ').trim().slice(0, MAX_ERROR_LENGTH)
}
