import type { AnswerHeaders } from '../../../http/client/answer-handler.ts'
import { entryOf, type Provider } from '../../../providers/registry.ts'
import type { AnswerRates } from '../../limits/doors/rate-headers.ts'
import type { MapAddress } from '../own-addresses.ts'
import {
  ASKS_OTHER_ANSWER,
  ENDS_HERE,
  IS_ACCEPT,
  IS_ADDRESS,
  IS_CALL_ID,
  IS_CODING,
  IS_CORS,
  IS_LENGTH,
  IS_ORIGIN,
  IS_ORIGIN_POLICY,
  IS_SUBPROTOCOL,
  IS_TE,
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
  /** Asks for an answer without content coding, in place of what the client accepts. */
  readonly askIdentity: boolean
  /** Which web page calls does not go upstream: that is for the gateway to judge. */
  readonly ownsOrigins?: boolean
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

/** How an answer's head becomes the client's. */
export interface AnswerHeadOptions {
  /** The body may get shorter on its way. */
  readonly dropContentLength: boolean
  /** Stand in place of the upstream's of these names. */
  readonly rates: AnswerRates | null
  /** Gives what stands in place of an address of the upstream's own; absent: those stay. */
  readonly mapAddress?: MapAddress | undefined
  /** What the upstream says of web pages ends here. */
  readonly ownsOrigins: boolean
}

const AS_IT_IS: MapAddress = (address) => address
const ALLOW_ORIGIN = 'access-control-allow-origin'

/** The client's headers as they go upstream, with `host` first and our credential last. */
export function forwardableRequestHeaders(rawHeaders: RawHeaders, options: RequestHeaderOptions): string[] {
  const { host, credential, askIdentity, contentLength, isPlain, ownsOrigins } = options
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
      if ((meaning & (NOT_UPSTREAM | ENDS_HERE)) !== 0) continue
      if ((meaning & IS_LENGTH) !== 0 && contentLength !== null) continue
      if ((meaning & IS_CODING) !== 0 && isPlain === true) continue
      if ((meaning & (IS_ORIGIN | IS_CORS)) !== 0 && ownsOrigins === true) continue
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
    forwarded.push(name, value)
  }
  if (askIdentity) forwarded.push('accept-encoding', 'identity')
  if (contentLength !== null) forwarded.push('content-length', String(contentLength))
  // After the headers that `Connection` names were dropped, so that a client cannot drop this one.
  if (credential !== null) forwarded.push(...credential)
  return forwarded
}

/** The upstream's headers as they go to the client. */
export function forwardableResponseHeaders(headers: RawHeaders, options: AnswerHeadOptions): string[] {
  const { rates, ownsOrigins } = options
  const forwarded = forClient(headers, namedByConnection(headers), options)
  // Whether a page may read it depends on the page: a cache must not give it to another one.
  if (ownsOrigins) forwarded.push('vary', 'Origin')
  if (rates === null) return forwarded
  const isForBrowsers = forwarded.some((text, i) => i % 2 === 0 && text.toLowerCase() === ALLOW_ORIGIN)
  for (const name of Object.keys(rates)) forwarded.push(name, rates[name] ?? '')
  // A page sees only headers that an answer to it names. Several such lines are one list.
  if (isForBrowsers) forwarded.push('access-control-expose-headers', Object.keys(rates).join(', '))
  return forwarded
}

/** The upstream's trailers as they go to the client: without what is dropped of `headers`, those of the same answer. */
export function forwardableTrailers(
  trailers: AnswerHeaders | null,
  headers: RawHeaders,
  options: Omit<AnswerHeadOptions, 'dropContentLength' | 'mapAddress'>,
): [name: string, value: string][] {
  if (trailers === null) return []
  const raw = Object.entries(trailers).flatMap(([name, value]) => [name, String(value)])
  const forwarded = forClient(raw, namedByConnection(headers), { ...options, dropContentLength: true })
  return Array.from({ length: forwarded.length / 2 }, (_, i) => [
    forwarded[2 * i] ?? '',
    forwarded[2 * i + 1] ?? '',
  ])
}

function forClient(
  fields: RawHeaders,
  connectionNamed: ReadonlySet<string> | null,
  { dropContentLength, rates, mapAddress = AS_IT_IS, ownsOrigins }: AnswerHeadOptions,
): string[] {
  const dropped = ENDS_HERE | IS_CALL_ID | IS_ORIGIN_POLICY | (ownsOrigins ? IS_CORS : 0)
  const forwarded: string[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i] ?? ''
    const meaning = meaningOf(name)
    if ((meaning & dropped) !== 0) continue
    if ((meaning & IS_LENGTH) !== 0 && dropContentLength) continue
    if (connectionNamed?.has(name.toLowerCase()) === true) continue
    if (rates !== null && Object.hasOwn(rates, name.toLowerCase())) continue
    const value = fields[i + 1] ?? ''
    forwarded.push(name, (meaning & IS_ADDRESS) === 0 ? value : mapAddress(value))
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
