import { entryOf, PROVIDERS, type Provider } from '../../providers/registry.ts'
import { endsHere, namedByConnection, type RawHeaders } from './hop-by-hop.ts'

/** A header's name in lower case, and its value. */
export type Header = readonly [name: string, value: string]

export interface RequestHeaderOptions {
  /** Value of the Host header that goes upstream. */
  readonly host: string
  /** Our credential for the upstream; `null`: none is sent. */
  readonly credential: Header | null
  /** Asks for an answer without content coding, in place of what the client accepts. */
  readonly askIdentity: boolean
  /** Length in bytes of a body that is sent whole; `null`: the client's announcement stays. */
  readonly contentLength: number | null
  /** The body is sent without a content coding, whatever the client's body had. */
  readonly isPlain?: boolean
}

/**
 * Headers that do not go upstream: the client's credentials for this gateway, wherever SDKs put them, cookies
 * that a browser has for this origin, headers that are set here, and `Expect`, which the gateway has
 * answered.
 */
const NOT_FOR_UPSTREAM: ReadonlySet<string> = new Set([
  ...PROVIDERS.map((provider) => entryOf(provider).credential.name),
  // Clients of every SDK are taken, whatever the upstreams are.
  'api-key',
  'authorization',
  'cookie',
  'expect',
  'host',
  'x-api-key',
  'x-goog-api-key',
  // Some frameworks take these for the method, and would serve the call by another one than it was judged by.
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  // Some take these for the path.
  'x-original-url',
  'x-rewrite-url',
])

/**
 * Headers by which a client asks for less of an answer than its reader needs: a part of it, or chosen members
 * (Google).
 */
const ASKS_FOR_PARTS = new Set(['if-range', 'range', 'x-goog-fieldmask'])

/** The gateway's id of a call. An upstream that is such a gateway itself has another one for its own part. */
const CALL_ID_HEADER = 'x-tallygate-call-id'

/**
 * With this, OpenAI lets browsers send a key in a WebSocket handshake, where they can set no other header.
 */
const KEY_SUBPROTOCOL = 'openai-insecure-api-key.'

/** The client's headers as they go upstream, with `host` first and our credential last. */
export function forwardableRequestHeaders(rawHeaders: RawHeaders, options: RequestHeaderOptions): string[] {
  const { host, credential, askIdentity, contentLength, isPlain } = options
  const connectionNamed = namedByConnection(rawHeaders)
  const forwarded = ['host', host]
  let hasType = false
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    const value = rawHeaders[i + 1] ?? ''
    const lowerName = name.toLowerCase()
    if (lowerName === 'te' && takesTrailers(value)) {
      forwarded.push(name, 'trailers')
      continue
    }
    if (NOT_FOR_UPSTREAM.has(lowerName) || endsHere(lowerName, connectionNamed)) continue
    if (lowerName === 'content-length' && contentLength !== null) continue
    if (lowerName === 'content-encoding' && isPlain === true) continue
    if (askIdentity && (lowerName === 'accept-encoding' || ASKS_FOR_PARTS.has(lowerName))) continue
    if (lowerName === 'content-type') {
      // The gateway read the body by the first one, and a server may go by the last.
      if (hasType) continue
      hasType = true
    }
    if (lowerName === 'sec-websocket-protocol' && value.includes(KEY_SUBPROTOCOL)) {
      const protocols = withoutKey(value)
      if (protocols !== '') forwarded.push(name, protocols)
      continue
    }
    forwarded.push(name, value)
  }
  if (askIdentity) forwarded.push('accept-encoding', 'identity')
  if (contentLength !== null) forwarded.push('content-length', String(contentLength))
  // After the headers that `Connection` names were dropped, so that a client cannot drop this one.
  if (credential !== null) forwarded.push(...credential)
  return forwarded
}

/**
 * The upstream's headers as they go to the client. `dropContentLength`: the body may get shorter on its way.
 * Buffers, as undici gives them, are read as latin1.
 */
export function forwardableResponseHeaders(
  rawHeaders: readonly (string | Buffer)[],
  dropContentLength: boolean,
): string[] {
  const headers = rawHeaders.map((part) => (typeof part === 'string' ? part : part.toString('latin1')))
  const connectionNamed = namedByConnection(headers)
  const forwarded: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const lowerName = name.toLowerCase()
    if (endsHere(lowerName, connectionNamed) || lowerName === CALL_ID_HEADER) continue
    if (lowerName === 'content-length' && dropContentLength) continue
    forwarded.push(name, headers[i + 1] ?? '')
  }
  return forwarded
}

/** The header in which `provider` takes `apiKey`. */
export function credentialHeader(provider: Provider, apiKey: string): Header {
  const { name, prefix } = entryOf(provider).credential
  return [name, prefix + apiKey]
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
