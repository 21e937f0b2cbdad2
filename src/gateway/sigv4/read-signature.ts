import { timingSafeEqual } from 'node:crypto'
import { ALGORITHM, type SignatureScope, type SignedRequest, signatureOf } from './canonical-request.ts'

/** AWS takes requests for as long as this before and behind their time. */
const MAX_SKEW_MS = 5 * 60_000
/** A library signs some twenty headers. */
const MAX_LENGTH = 4_096
const MAX_HEADERS = 64
const AUTHORIZATION = new RegExp(
  `^${ALGORITHM} {1,2}Credential=(\\w{1,64})/(\\d{8})/([\\w-]{1,64})/([\\w-]{1,64})/aws4_request, ?` +
    "SignedHeaders=(:?[a-z0-9;!#$%&'*+.^_`|~-]+), ?Signature=([0-9a-f]{64})$",
)
const TIME = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/
const HASH = /^[0-9a-f]{64}$/
/** AWS wants all of these that a request has to be signed. */
const OWN_HEADER = /^x-amz-/

/** AWS's SDK for JavaScript signs the host by this name where it speaks HTTP/2. */
const AUTHORITY = ':authority'

/** What the `Authorization` header of a signed request says. */
export interface Signature {
  readonly accessKeyId: string
  readonly scope: SignatureScope
  /** In lower case and order, each once; `host` or `:authority` among them. */
  readonly names: readonly string[]
  readonly signature: string
}

/** A request as it came, before anything in it was changed. */
export interface ReceivedRequest {
  readonly method: string
  readonly target: string
  /** Name, value, name, value, ... */
  readonly rawHeaders: readonly string[]
}

/** What a signed request says of itself. */
export interface SignedClaims {
  /** As in `x-amz-date`. */
  readonly time: string
  /** SHA-256 of the body, in hex; `null`: the signature covers it, and no header says it. */
  readonly payloadHash: string | null
  readonly headers: SignedRequest['headers']
}

/** Reads an `Authorization` header; in linear time, as no key is known yet. `null`: it is not one that can be checked. */
export function readSignature(authorization: string): Signature | null {
  const found = authorization.length > MAX_LENGTH ? null : AUTHORIZATION.exec(authorization)
  if (found === null) return null
  const [, accessKeyId = '', date = '', region = '', service = '', list = '', signature = ''] = found
  const names = list.split(';')
  // In order, so that none is there twice.
  const isInOrder = names.every((name, i) => name !== '' && (i === 0 || (names[i - 1] ?? '') < name))
  if (!isInOrder || names.length > MAX_HEADERS) return null
  if (names.includes('host') === names.includes(AUTHORITY)) return null
  return { accessKeyId, scope: { date, region, service }, names, signature }
}

/**
 * What the request says that its signature has to cover.
 *
 * @returns A sentence for the client, where it cannot be checked.
 */
export function readClaims(
  { rawHeaders }: ReceivedRequest,
  { names, scope }: Signature,
): SignedClaims | string {
  const values = new Map<string, string>(names.map((name) => [name, '']))
  const seen = new Map<string, number>()
  let hash: string | null = null
  const host = values.has(AUTHORITY) ? AUTHORITY : 'host'
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const sent = (rawHeaders[i] ?? '').toLowerCase()
    const name = sent === 'host' ? host : sent
    const value = rawHeaders[i + 1] ?? ''
    const before = values.get(name)
    if (before === undefined) {
      if (OWN_HEADER.test(name)) return `The header ${name} is not signed.`
      continue
    }
    const count = (seen.get(name) ?? 0) + 1
    seen.set(name, count)
    // Of two, a server may take either.
    if (count > 1 && (name === host || OWN_HEADER.test(name))) return `The header ${name} was sent twice.`
    values.set(name, count === 1 ? value : `${before},${value}`)
    if (name === 'x-amz-content-sha256') hash = value
  }
  const missing = names.find((name) => !seen.has(name))
  if (missing !== undefined) return `The signed header ${missing} did not arrive.`
  if (hash !== null && !HASH.test(hash)) {
    return 'The body is not signed: x-amz-content-sha256 has to be its SHA-256.'
  }
  const time = values.get('x-amz-date')?.trim()
  if (time === undefined || !TIME.test(time))
    return 'The header x-amz-date is missing, or not as AWS writes it.'
  if (!time.startsWith(scope.date)) return 'The day of x-amz-date is not that of the credential.'
  return { time, payloadHash: hash, headers: names.map((name) => [name, values.get(name) ?? '']) }
}

/** Tells whether a request was signed near enough to now. */
export function isTimely({ time }: SignedClaims, nowMs: number): boolean {
  const [, year, month, day, hour, minute, second] = TIME.exec(time) ?? []
  const signedMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  // Not a number where there is no such time.
  return Math.abs(nowMs - signedMs) <= MAX_SKEW_MS
}

/** Tells whether the request was signed with this secret. */
export function isSignedWith(
  secret: string,
  { method, target }: ReceivedRequest,
  { scope, signature }: Signature,
  { time, headers }: SignedClaims,
  payloadHash: string,
): boolean {
  const expected = signatureOf({ method, target, headers, payloadHash }, time, scope, secret)
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature))
}
