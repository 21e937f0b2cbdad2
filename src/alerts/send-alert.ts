import { createHmac } from 'node:crypto'
import type { Dispatcher } from 'undici'
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
export const SIGNATURE_HEADER = 'x-tallygate-signature'

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

/** What came back from a post. */
export type PostAnswer =
  | { readonly kind: 'answered'; readonly status: number; readonly text: string }
  /** `mayBeThere`: it was sent, or some of it. */
  | { readonly kind: 'unanswered'; readonly error: string; readonly mayBeThere: boolean }

/** The beginning of an answer that is read. Of the rest its connection is ended, however long it is. */
const MOST_READ = 4_096

/** Posts bodies, over connections that are kept open until it is closed. */
export interface Poster {
  /**
   * Redirects are not followed: a body goes where the operator said. Through the proxy that HTTPS_PROXY names, where it
   * is set. Never throws.
   */
  post(url: string, headers: Readonly<Record<string, string>>, body: string): Promise<PostAnswer>
  close(): Promise<void>
}

export async function openPoster(): Promise<Poster> {
  const { EnvHttpProxyAgent, request } = await import('undici') // 14 MB that a worker without receivers never needs
  const agent = new EnvHttpProxyAgent({ connect: { timeout: SEND_MS } })
  return {
    async post(url, headers, body) {
      const signal = AbortSignal.timeout(SEND_MS)
      try {
        const answer = await request(url, {
          method: 'POST',
          dispatcher: agent,
          signal,
          headers: { 'user-agent': 'tallygate', ...headers },
          body,
        })
        return { kind: 'answered', status: answer.statusCode, text: await beginningOf(answer) }
      } catch (error) {
        const problem = signal.aborted ? `no answer within ${SEND_MS / 1000} s` : problemOf(error)
        return { kind: 'unanswered', error: problem, mayBeThere: !isUnsent(error) }
      }
    },
    close: () => agent.destroy(),
  }
}

/** Why it was refused, as far as it says. */
async function beginningOf({ statusCode, body }: Dispatcher.ResponseData): Promise<string> {
  body.on('error', () => {})
  let text = ''
  try {
    if (statusCode >= 300)
      for await (const piece of body) {
        text += piece.toString('utf8')
        if (text.length >= MOST_READ) break
      }
    else await body.dump({ limit: MOST_READ })
  } catch {} // the status says enough
  return text.slice(0, MOST_READ)
}

/** Errors before a connection is there: nothing is sent over one whose certificate is not trusted. */
const UNSENT: readonly unknown[] = [
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]

function isUnsent(error: unknown): boolean {
  if (error instanceof AggregateError) return error.errors.every(isUnsent)
  return error instanceof Error && 'code' in error && UNSENT.includes(error.code)
}

/**
 * Posts a body to a receiver, signed as of now. Of the answer only the status is looked at. Never throws.
 *
 * @param delivery What the receiver may know a repeated attempt by.
 */
export async function sendAlert(
  { url, secret }: ReceiverAddress,
  delivery: string,
  body: string,
): Promise<SendResult> {
  const poster = await openPoster()
  const answer = await poster.post(
    url,
    {
      'content-type': 'application/json',
      [DELIVERY_HEADER]: delivery,
      [SIGNATURE_HEADER]: signAlert(secret, body, Date.now()),
    },
    body,
  )
  await poster.close()
  return answer.kind === 'answered'
    ? resultOf(answer.status)
    : { kind: 'failed', status: null, error: answer.error }
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
