import { ADDRESS_HEADERS } from '../../../providers/own-addresses.ts'
import { entryOf, PROVIDERS } from '../../../providers/registry.ts'

/**
 * Headers as they stand on the wire, like Node's `rawHeaders`: name, value, name, value, ... in order. Bytes
 * are latin1 characters, and values leave as they came.
 */
export type RawHeaders = readonly string[]

/**
 * Hop-by-hop headers (RFC 9110, 7.6.1), whatever `Connection` says. Trailers do not pass, so neither does
 * their announcement. Every header that begins with `proxy-` is dropped as well.
 */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that hold a credential, wherever SDKs put it. */
const CREDENTIALS: ReadonlySet<string> = new Set([
  ...PROVIDERS.map((provider) => entryOf(provider).credential.name),
  // Clients of every SDK are taken, whatever the upstreams are.
  'api-key',
  'authorization',
  'x-api-key',
  'x-goog-api-key',
])

/**
 * Headers that do not go upstream: the client's credentials for this gateway, cookies that a browser has for this
 * origin, headers that are set here, and `Expect`, which the gateway has answered.
 */
const NOT_FOR_UPSTREAM: ReadonlySet<string> = new Set([
  ...CREDENTIALS,
  'cookie',
  'expect',
  'host',
  // What a client signed for this gateway; the second is a credential of AWS, too.
  'x-amz-content-sha256',
  'x-amz-date',
  'x-amz-security-token',
  // Some frameworks take these for the method, and would serve the call by another one than it was judged by.
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  // Azure takes these for the deployment, vLLM the last for the model, and would run another than the call names.
  'azureml-model-deployment',
  'x-ms-model-mesh-model-name',
  'x-amzn-sagemaker-adapter-identifier',
  // Some take these for the path.
  'x-original-url',
  'x-rewrite-url',
  // What only this gateway answers.
  'x-tallygate-cost',
  // A key of ours beside a credential of the client's own.
  'x-tallygate-key',
  // What only a proxy of the operator's may say, and an upstream must not hear from anybody.
  'x-tallygate-client',
  'x-tallygate-proxy-secret',
  'x-tallygate-subject',
])

/** Headers that frame, address or describe the message. Naming them in `Connection` does not drop them. */
const NOT_FOR_CONNECTION_TO_NAME = new Set(['content-encoding', 'content-length', 'content-type', 'host'])

/**
 * Headers by which an answer sets rules, addresses or state for its whole origin (RFC 6797, RFC 7838, RFC 6265, ...).
 * To a client the origin is the gateway.
 */
const ORIGIN_POLICIES = [
  'accept-ch',
  'alt-svc',
  'clear-site-data',
  'expect-ct',
  'nel',
  'origin-agent-cluster',
  'public-key-pins',
  'public-key-pins-report-only',
  'report-to',
  'reporting-endpoints',
  'set-cookie',
  'strict-transport-security',
] as const

/** By these a server knows a request that is made again, and may answer with what it answered the first time. */
const IDEMPOTENCY_KEYS = [
  // Cloudflare's gateway answers with what it keeps under this, whatever the request: "Caching", "Custom cache key".
  'cf-aig-cache-key',
  'idempotency-key',
  'repeatability-request-id',
  'x-idempotency-key',
] as const

/** What the gateway says of a call. An upstream that is such a gateway itself says it of its own part. */
const CALL_HEADERS = ['x-tallygate-call-id', 'x-tallygate-upstream', 'x-tallygate-attempts']

/** What a header's name means here, as bits; 0 for most. */
export const ENDS_HERE = 1
export const NOT_UPSTREAM = 2
const IS_CONNECTION = 4
export const IS_TE = 8
export const IS_LENGTH = 16
export const IS_CODING = 32
export const IS_TYPE = 64
/** Asks for a coding of the answer or of a session's frames, for a part of it, or for another form of it. */
export const ASKS_OTHER_ANSWER = 128
export const IS_SUBPROTOCOL = 256
export const IS_CALL_ID = 512
export const IS_ACCEPT = 1024
/** Of an answer: it may hold an address of the upstream's own. */
export const IS_ADDRESS = 2048
/** Of an answer: it speaks for the origin that it came from, which is the gateway's by then. */
export const IS_ORIGIN_POLICY = 4096
/** Of an answer: which web pages may read it. */
export const IS_CORS = 8192
/** Of a request: which web page it came from. */
export const IS_ORIGIN = 16384
/** Of a request: it may hold a key of ours, or a credential of the client's own. */
export const IS_CREDENTIAL = 32768
/** Of a request: the trace that it belongs to. */
export const IS_TRACE = 65536
/** Of a request: it names an answer that was given before, among those of all clients of the account. */
export const IS_IDEMPOTENCY_KEY = 131072
/** What becomes of it, or of other headers, depends on its value, even where it ends here itself. */
export const READS_VALUE = IS_CONNECTION | IS_TE

const MEANINGS: ReadonlyMap<string, number> = new Map([
  ...PROVIDERS.flatMap((provider) => entryOf(provider).answerForm?.headers ?? []).map(
    (name) => [name, ASKS_OTHER_ANSWER] as const,
  ),
  ...PROVIDERS.flatMap((provider) => entryOf(provider).ownAddresses?.headers ?? [])
    .concat(ADDRESS_HEADERS)
    .map((name) => [name, IS_ADDRESS] as const),
  ['connection', IS_CONNECTION],
  ['te', IS_TE],
  ['content-length', IS_LENGTH],
  ['content-encoding', IS_CODING],
  ['content-type', IS_TYPE],
  ['accept-encoding', ASKS_OTHER_ANSWER],
  ['if-range', ASKS_OTHER_ANSWER],
  ['range', ASKS_OTHER_ANSWER],
  ['sec-websocket-extensions', ASKS_OTHER_ANSWER],
  ['accept', IS_ACCEPT],
  ['sec-websocket-protocol', IS_SUBPROTOCOL],
  ...CALL_HEADERS.map((name) => [name, IS_CALL_ID] as const),
  ['origin', IS_ORIGIN],
  ['traceparent', IS_TRACE],
  ['tracestate', IS_TRACE],
  ...IDEMPOTENCY_KEYS.map((name) => [name, IS_IDEMPOTENCY_KEY] as const),
  ...ORIGIN_POLICIES.map((name) => [name, IS_ORIGIN_POLICY] as const),
])

/** Clients write few names, each in one or two ways: looking one up costs less than writing it in lower case. */
const known = new Map<string, number>()
const MAX_KNOWN = 1_000
const MAX_KNOWN_LENGTH = 64

/** @param name in any case of letters. */
export function meaningOf(name: string): number {
  return known.get(name) ?? learn(name)
}

function learn(name: string): number {
  const lowerName = name.toLowerCase()
  let meaning = MEANINGS.get(lowerName) ?? 0
  if (HOP_BY_HOP.has(lowerName) || lowerName.startsWith('proxy-')) meaning |= ENDS_HERE
  if (lowerName.startsWith('access-control-')) meaning |= IS_CORS
  if (NOT_FOR_UPSTREAM.has(lowerName)) meaning |= NOT_UPSTREAM
  if (CREDENTIALS.has(lowerName)) meaning |= IS_CREDENTIAL
  if (name.length > MAX_KNOWN_LENGTH) return meaning
  if (known.size >= MAX_KNOWN) known.clear()
  known.set(name, meaning)
  return meaning
}

/**
 * The headers that `Connection` names, in lower case, and that would not end here anyway; `null`: it names
 * none.
 */
export function namedByConnection(rawHeaders: RawHeaders): ReadonlySet<string> | null {
  let named: Set<string> | null = null
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if ((meaningOf(rawHeaders[i] ?? '') & IS_CONNECTION) === 0) continue
    const value = rawHeaders[i + 1] ?? ''
    // Nearly every client says the one or the other, and neither names a header that could pass.
    if (value === 'keep-alive' || value === 'close') continue
    for (const token of value.split(',')) {
      const name = token.trim().toLowerCase()
      if (HOP_BY_HOP.has(name) || NOT_FOR_CONNECTION_TO_NAME.has(name)) continue
      named ??= new Set()
      named.add(name)
    }
  }
  return named
}
