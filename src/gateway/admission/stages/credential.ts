import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Caller, CallerLookup } from '../../../call/caller.ts'
import { sendError } from '../../../http/answer-error.ts'
import type { ErrorName } from '../../../http/errors.ts'
import { takeQueryKey } from '../../proxy/headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Who is calling; set for everything behind `authenticate`. */
    caller: Caller | null
    /** The URL as the client sent it, less a key in its query. */
    urlWithoutKey: string
  }
}

export interface AuthenticateOptions {
  /** Synchronous for a known key. */
  readonly findCaller: (key: string) => CallerLookup | Promise<CallerLookup>
}

/** A key where clients put one, or why the request cannot be read. */
export type Credential =
  | { readonly kind: 'key'; readonly key: string; readonly url: string }
  | { readonly kind: 'none'; readonly url: string }
  | { readonly kind: 'ambiguous' }

const OUR_FORM = /^tg_[0-9A-Za-z]{36}$/
const KEY_HEADERS = ['x-api-key', 'api-key', 'x-goog-api-key'] as const
const SUBPROTOCOL_KEY = /(?:^|,)\s*openai-insecure-api-key\.(tg_[0-9A-Za-z]{36})\s*(?=,|$)/

/**
 * The client's key: the first of Authorization, x-api-key, api-key, x-goog-api-key, `?key=`, `?api-key=` and the realtime subprotocol
 * that has our form, else the first there is. Two Authorization lines are refused: two readers could take different ones.
 */
export function findCredential(request: IncomingMessage): Credential {
  const { headers, rawHeaders } = request
  const url = request.url ?? '/'
  let candidate: string | null = null
  const authorization = headers.authorization
  if (authorization !== undefined) {
    if (countAuthorization(rawHeaders) > 1) return { kind: 'ambiguous' }
    const key = bearer(authorization)
    if (OUR_FORM.test(key) && !url.includes('?')) return { kind: 'key', key, url }
    candidate = key
  }
  const fromQuery = url.includes('?') ? takeQueryKey(url) : { url, key: null }
  if (candidate !== null && OUR_FORM.test(candidate))
    return { kind: 'key', key: candidate, url: fromQuery.url }
  for (const name of KEY_HEADERS) {
    const value = headers[name]
    if (typeof value !== 'string') continue
    if (OUR_FORM.test(value)) return { kind: 'key', key: value, url: fromQuery.url }
    candidate ??= value
  }
  if (fromQuery.key !== null) {
    // A page navigation with a key in its address is a link somebody was sent, not a program's call.
    if (headers['sec-fetch-mode'] === 'navigate') return { kind: 'none', url: fromQuery.url }
    return { kind: 'key', key: fromQuery.key, url: fromQuery.url }
  }
  const subprotocol = headers['sec-websocket-protocol']?.match(SUBPROTOCOL_KEY)?.[1]
  if (subprotocol !== undefined) return { kind: 'key', key: subprotocol, url }
  return candidate === null
    ? { kind: 'none', url: fromQuery.url }
    : { kind: 'key', key: candidate, url: fromQuery.url }
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

/** Why a caller is refused, as the contract's error; `null` for an active key. */
export function refusalOf(lookup: CallerLookup): ErrorName | null {
  switch (lookup.kind) {
    case 'active':
      return null
    case 'unknown':
      return 'invalid_api_key'
    case 'key_inactive':
      return 'key_inactive'
    case 'client_disabled':
      return 'client_disabled'
    case 'unavailable':
      return 'storage_unavailable'
    default:
      return lookup satisfies never
  }
}

/** Everything registered behind this needs an API key. Runs before a byte of the body is read. */
export function authenticate(app: FastifyInstance, options: AuthenticateOptions): void {
  app.decorateRequest('caller', null)
  app.decorateRequest('urlWithoutKey', '')

  app.addHook('onRequest', (request, reply, done) => {
    const credential = findCredential(request.raw)
    if (credential.kind === 'ambiguous') {
      sendError(reply, 'invalid_request', { message: 'More than one Authorization header was sent.' })
      return
    }
    request.urlWithoutKey = credential.url
    if (credential.kind === 'none') {
      sendError(reply, 'invalid_api_key', {
        message: 'No API key was sent. Send yours as "Authorization: Bearer <key>".',
      })
      return
    }
    const found = options.findCaller(credential.key)
    if (found instanceof Promise) {
      found.then(
        (lookup) => admitCaller(lookup, request, reply, done),
        () => sendError(reply, 'storage_unavailable'),
      )
    } else {
      admitCaller(found, request, reply, done)
    }
  })
}

function admitCaller(
  lookup: CallerLookup,
  request: FastifyRequest,
  reply: FastifyReply,
  done: () => void,
): void {
  const refusal = refusalOf(lookup)
  if (refusal !== null || lookup.kind !== 'active') {
    sendError(reply, refusal ?? 'invalid_api_key')
    return
  }
  request.caller = lookup.caller
  done()
}
