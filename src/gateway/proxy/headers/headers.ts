import { hash } from 'node:crypto'
import { entryOf, type Provider } from '../../../providers/registry.ts'
import {
  ASKS_OTHER_ANSWER,
  ENDS_HERE,
  IS_ACCEPT,
  IS_CODING,
  IS_CORS,
  IS_CREDENTIAL,
  IS_IDEMPOTENCY_KEY,
  IS_LENGTH,
  IS_ORIGIN,
  IS_SUBPROTOCOL,
  IS_TE,
  IS_TRACE,
  IS_TYPE,
  meaningOf,
  NOT_UPSTREAM,
  namedByConnection,
  type RawHeaders,
} from './header-names.ts'

/** A header's name in lower case, and its value. */
export type Header = readonly [name: string, value: string]

export interface HeaderOptions {
  /** Value of the Host header that goes upstream. */
  readonly host: string
  /** Our credential for the upstream; `null`: none is sent. */
  readonly credential: Header | null
  /**
   * The client's own credentials go upstream, and what is meant for this gateway does not: no header with the key that
   * is given here. '': it signs. `null`, absent: none go.
   */
  readonly passesCredentialsBeside?: string | null
  /** Whose idempotency keys they are, where clients share an account; `null`, absent: they go on as they came. */
  readonly idempotencyOf?: string | null
  /** Asks for an answer without content coding, in place of what the client accepts. */
  readonly askIdentity: boolean
  /** Which web page calls does not go upstream: that is for the gateway to judge. */
  readonly ownsOrigins?: boolean
  /** `traceparent` and its like in place of the client's: name, value, name, value; absent: the client's go on. */
  readonly trace?: readonly string[]
  /** The body is sent without a content coding, whatever the client's body had. */
  readonly isPlain?: boolean
}

export interface RequestHeaderOptions extends HeaderOptions {
  /** Length in bytes of a body that is sent whole; `null`: the client's announcement stays. */
  readonly contentLength: number | null
}

/**
 * With this, OpenAI lets browsers send a key in a WebSocket handshake, where they can set no other header.
 */
const KEY_SUBPROTOCOL = 'openai-insecure-api-key.'

/** Google answers in protocol buffers where a client accepts them, and nothing here reads those. */
const UNREADABLE_TYPE = /proto/i

/** The client's headers as they go upstream, with `host` first and our credential last. */
export function forwardableRequestHeaders(rawHeaders: RawHeaders, options: RequestHeaderOptions): string[] {
  const {
    host,
    credential,
    askIdentity,
    contentLength,
    idempotencyOf = null,
    isPlain,
    ownsOrigins,
    passesCredentialsBeside,
    trace,
  } = options
  const connectionNamed = namedByConnection(rawHeaders)
  const forwarded = ['host', host]
  let hasType = false
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    const value = rawHeaders[i + 1] ?? ''
    const meaning = meaningOf(name)
    if (meaning !== 0) {
      if ((meaning & IS_TE) !== 0 && takesTrailers(value)) {
        forwarded.push(name, 'trailers')
        continue
      }
      if ((meaning & (NOT_UPSTREAM | ENDS_HERE)) !== 0) {
        if (typeof passesCredentialsBeside !== 'string' || (meaning & IS_CREDENTIAL) === 0) continue
        if (isForUs(value, passesCredentialsBeside)) continue
      }
      if ((meaning & IS_LENGTH) !== 0 && contentLength !== null) continue
      if ((meaning & IS_CODING) !== 0 && isPlain === true) continue
      if ((meaning & (IS_ORIGIN | IS_CORS)) !== 0 && ownsOrigins === true) continue
      if ((meaning & IS_TRACE) !== 0 && trace !== undefined) continue
      if ((meaning & ASKS_OTHER_ANSWER) !== 0 && askIdentity) continue
      if ((meaning & IS_ACCEPT) !== 0 && askIdentity && UNREADABLE_TYPE.test(value)) continue
      if ((meaning & IS_TYPE) !== 0) {
        // The gateway read the body by the first one, and a server may go by the last.
        if (hasType) continue
        hasType = true
      }
    }
    if (connectionNamed?.has(name.toLowerCase()) === true) continue
    if ((meaning & IS_SUBPROTOCOL) !== 0 && value.includes(KEY_SUBPROTOCOL)) {
      const protocols = withoutKey(value)
      if (protocols !== '') forwarded.push(name, protocols)
      continue
    }
    const isShared = (meaning & IS_IDEMPOTENCY_KEY) !== 0 && idempotencyOf !== null && value !== ''
    forwarded.push(name, isShared ? ownIdempotencyKey(idempotencyOf, value) : value)
  }
  if (askIdentity) forwarded.push('accept-encoding', 'identity')
  if (contentLength !== null) forwarded.push('content-length', String(contentLength))
  if (trace !== undefined) forwarded.push(...trace)
  // After the headers that `Connection` names were dropped, so that a client cannot drop this one.
  if (credential !== null) forwarded.push(...credential)
  return forwarded
}

/**
 * The client's key, as the account of all clients may have it: two clients choose the same, and one would get the
 * other's answer. It has the form of a UUID, which every server takes; some take it in quotes.
 */
function ownIdempotencyKey(clientId: string, key: string): string {
  const digits = hash('sha256', `${clientId}\0${key}`, 'hex')
  const uuid = `${digits.slice(0, 8)}-${digits.slice(8, 12)}-8${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20, 32)}`
  return key.startsWith('"') ? `"${uuid}"` : uuid
}

export function credentialHeader(provider: Provider, apiKey: string): Header {
  const { name, prefix } = entryOf(provider).credential
  return [name, prefix + apiKey]
}

/** A key of ours, or what a client signed for this gateway. */
const FOR_US = /\btg_[0-9A-Za-z]|^\s*AWS4-/i

/** @param key The client's, which another gateway may have made: it has any form. */
function isForUs(value: string, key: string): boolean {
  return FOR_US.test(value) || (key !== '' && value.includes(key))
}

/** RFC 9110, 10.1.4: `trailers` is about the message and may pass. All else in TE is about the connection. */
function takesTrailers(te: string): boolean {
  return te.split(',').some((coding) => coding.trim().toLowerCase() === 'trailers')
}

function withoutKey(protocols: string): string {
  return protocols
    .split(',')
    .filter((protocol) => !protocol.trim().startsWith(KEY_SUBPROTOCOL))
    .join(',')
    .trim()
}
