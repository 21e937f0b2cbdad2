import type { IncomingHttpHeaders } from 'node:http'
import type { CallerLookup, KeyOwner } from '../../../call/call-ports.ts'
import { percentDecoded } from '../../../domain/canonical-path.ts'
import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'
import { takeUploadTicket } from '../upload-ticket.ts'
import { isSigned, takeSignature } from './signature.ts'

const AMBIGUOUS: CallRefusal = {
  error: 'invalid_request',
  reason: 'two_keys',
  detail: { message: 'More than one Authorization header was sent.' },
}
const NO_KEY: CallRefusal = {
  error: 'invalid_api_key',
  reason: 'no_key',
  detail: { message: 'No API key was sent. Send yours as "Authorization: Bearer <key>".' },
}

const PRESIGNED: CallRefusal = {
  error: 'invalid_api_key',
  reason: 'presigned',
  detail: { message: 'This gateway takes no presigned URLs: sign in the header Authorization.' },
}
const PRESIGNED_QUERY = /[?&]X-Amz-Signature=/i

const OUR_FORM = /^tg_[0-9A-Za-z]{36}$/
/** The last is for clients whose libraries have a credential of their own in the others. */
const KEY_HEADERS = ['x-api-key', 'api-key', 'x-goog-api-key', 'x-tallygate-key'] as const
const SUBPROTOCOL_KEY = /(?:^|,)\s*openai-insecure-api-key\.(tg_[0-9A-Za-z]{36})\s*(?=,|$)/

/**
 * Takes our keys out of a raw URL's query: each parameter `key` or `api-key` whose value has our form,
 * together with one `&`, or with the `?` when nothing is left. No other byte changes.
 *
 * @returns `key`: the value of the first one.
 */
export function takeQueryKey(url: string): { readonly url: string; readonly key: string | null } {
  const queryStart = url.indexOf('?') + 1
  if (queryStart === 0) return { url, key: null }
  let key: string | null = null
  const parameters = url.slice(queryStart).split('&')
  const others = parameters.filter((parameter) => {
    const found = keyIn(parameter)
    key ??= found
    return found === null
  })
  if (others.length === parameters.length) return { url, key: null }
  const path = url.slice(0, queryStart - 1)
  return { url: others.length === 0 ? path : `${path}?${others.join('&')}`, key }
}

/** An upstream would undo percent-encoding, so a key that is written with it is a key. */
function keyIn(parameter: string): string | null {
  const equals = parameter.indexOf('=')
  if (equals < 0) return null
  const name = percentDecoded(parameter.slice(0, equals))
  if (name !== 'key' && name !== 'api-key') return null
  const value = percentDecoded(parameter.slice(equals + 1))
  return value !== null && OUR_FORM.test(value) ? value : null
}

/**
 * Reads the client's key: the first of Authorization, x-api-key, api-key, x-goog-api-key, x-tallygate-key,
 * `?key=`, `?api-key=`, an upload's ticket and the realtime subprotocol that has our form, else the first of them. Refuses two
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
  // What else it has of a credential is not for the gateway.
  if (admission.vouched !== null) return null
  if (candidate === null || !OUR_FORM.test(candidate)) {
    candidate = otherKey(headers, candidate, keyInQuery)
  }
  if (candidate === null) return PRESIGNED_QUERY.test(url) ? PRESIGNED : NO_KEY
  // A key elsewhere goes before: clients that cannot be kept from signing send one.
  if (candidate === authorization && isSigned(candidate)) return takeSignature(admission, candidate)
  admission.key = candidate
  return null
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

const UNKNOWN: CallerLookup = { kind: 'unknown' }
const UNKNOWN_KEY: CallRefusal = { error: 'invalid_api_key', reason: 'unknown_key' }
const UNKNOWN_SIGNER: CallRefusal = {
  ...UNKNOWN_KEY,
  detail: {
    message:
      'No key of this gateway has this access key id. Sign with the id and secret that its operator made for your key, not with those of AWS.',
  },
}
const KEY_REVOKED: CallRefusal = { error: 'key_inactive', reason: 'key_revoked' }
const KEY_EXPIRED: CallRefusal = { error: 'key_inactive', reason: 'key_expired' }
const CLIENT_DISABLED: CallRefusal = { error: 'client_disabled' }
const KEYS_UNAVAILABLE: CallRefusal = { error: 'storage_unavailable' }

/** Finds whose key it is; at once for a key that this process knows. */
export function findCaller(
  admission: Admission,
  options: Pick<AdmissionOptions, 'findCaller' | 'findVouched' | 'signers' | 'keyUsed'>,
): CallRefusal | null | Promise<CallRefusal | null> {
  const found = lookUp(admission, options)
  if (!(found instanceof Promise)) return take(admission, found, options)
  return found.then(
    (lookup) => take(admission, lookup, options),
    () => KEYS_UNAVAILABLE,
  )
}

function lookUp(
  { key, signature, vouched }: Admission,
  options: Pick<AdmissionOptions, 'findCaller' | 'findVouched' | 'signers'>,
): CallerLookup | Promise<CallerLookup> {
  if (key !== null) return options.findCaller(key)
  if (vouched !== null) return options.findVouched?.(vouched.subject, vouched.client) ?? UNKNOWN
  return signature === null ? UNKNOWN : options.signers.findSigner(signature.signature.accessKeyId)
}

/** The id of a key, which a signature names, is public: a client that wrote it has proven nothing yet. */
function keepOwner(admission: Admission, owner: KeyOwner | undefined): void {
  if (owner !== undefined && admission.signature === null) admission.refusedOwner = owner
}

function take(
  admission: Admission,
  lookup: CallerLookup,
  { keyUsed }: Pick<AdmissionOptions, 'keyUsed'>,
): CallRefusal | null {
  switch (lookup.kind) {
    case 'active':
      admission.caller = lookup.caller
      if (keyUsed !== undefined && admission.signature === null)
        keyUsed(lookup.caller.keyId, admission.request)
      return null
    case 'unknown':
      return admission.signature === null ? UNKNOWN_KEY : UNKNOWN_SIGNER
    case 'key_inactive':
      keepOwner(admission, lookup.of)
      return lookup.isExpired === true ? KEY_EXPIRED : KEY_REVOKED
    case 'client_disabled':
      keepOwner(admission, lookup.of)
      return CLIENT_DISABLED
    case 'unavailable':
      return KEYS_UNAVAILABLE
    case 'token_refused':
      return {
        error: 'invalid_api_key',
        reason: lookup.reason,
        detail: { message: `The token is refused: ${lookup.because}.` },
      }
    default:
      return lookup satisfies never
  }
}
