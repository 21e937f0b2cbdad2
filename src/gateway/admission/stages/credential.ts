import type { IncomingHttpHeaders } from 'node:http'
import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'
import { takeQueryKey } from '../query-key.ts'
import { takeUploadTicket } from '../upload-ticket.ts'

const AMBIGUOUS: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'More than one Authorization header was sent.' },
}
const NO_KEY: CallRefusal = {
  error: 'invalid_api_key',
  detail: { message: 'No API key was sent. Send yours as "Authorization: Bearer <key>".' },
}

const SIGNED: CallRefusal = {
  error: 'invalid_api_key',
  detail: {
    message:
      'This gateway takes a bearer token, not a signature: set AWS_BEARER_TOKEN_BEDROCK to your API key, and no other credentials of AWS.',
  },
}
/** How libraries of AWS sign. */
const SIGNATURE = /^AWS4-/i

const OUR_FORM = /^tg_[0-9A-Za-z]{36}$/
const KEY_HEADERS = ['x-api-key', 'api-key', 'x-goog-api-key'] as const
const SUBPROTOCOL_KEY = /(?:^|,)\s*openai-insecure-api-key\.(tg_[0-9A-Za-z]{36})\s*(?=,|$)/

/**
 * Reads the client's key: the first of Authorization, x-api-key, api-key, x-goog-api-key, `?key=`,
 * `?api-key=`, an upload's ticket and the realtime subprotocol that has our form, else the first of them. Refuses two
 * Authorization lines: two readers could take different ones.
 */
export function readCredential(
  admission: Admission,
  { config }: Pick<AdmissionOptions, 'config'>,
): CallRefusal | null {
  const { headers, rawHeaders } = admission.request
  const url = admission.urlWithoutKey
  const { authorization } = headers
  let candidate: string | null = null
  if (authorization !== undefined) {
    if (countAuthorization(rawHeaders) > 1) return AMBIGUOUS
    candidate = bearer(authorization)
  }
  let keyInQuery: string | null = null
  if (url.includes('?')) {
    const fromQuery = takeQueryKey(url)
    const { basePath, keyPepper } = config
    const sealing = { peppers: keyPepper, nowMs: admission.arrivedAtMs }
    const fromTicket = takeUploadTicket(fromQuery.url.slice(basePath.length), sealing)
    admission.urlWithoutKey = fromQuery.url.slice(0, basePath.length) + fromTicket.target
    keyInQuery = fromQuery.key ?? fromTicket.key
  }
  if (candidate === null || !OUR_FORM.test(candidate)) {
    candidate = otherKey(headers, candidate, keyInQuery)
  }
  admission.key = candidate
  if (candidate === null) return NO_KEY
  return candidate === authorization && SIGNATURE.test(candidate) ? SIGNED : null
}

/** The key of a request without one of ours in Authorization, where `candidate` stands, if anything. */
function otherKey(
  headers: IncomingHttpHeaders,
  candidate: string | null,
  keyInQuery: string | null,
): string | null {
  let first = candidate
  for (const name of KEY_HEADERS) {
    const value = headers[name]
    if (typeof value !== 'string') continue
    if (OUR_FORM.test(value)) return value
    first ??= value
  }
  if (keyInQuery !== null) {
    // A page that a browser was led to: its address, key included, is a link that a person was sent.
    return headers['sec-fetch-mode'] === 'navigate' ? null : keyInQuery
  }
  return headers['sec-websocket-protocol']?.match(SUBPROTOCOL_KEY)?.[1] ?? first
}

function bearer(authorization: string): string {
  const space = authorization.indexOf(' ')
  if (space === -1) return authorization
  return authorization.slice(0, space).toLowerCase() === 'bearer'
    ? authorization.slice(space + 1).trim()
    : authorization
}

function countAuthorization(rawHeaders: readonly string[]): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name !== undefined && name.length === 13 && name.toLowerCase() === 'authorization') count += 1
  }
  return count
}
