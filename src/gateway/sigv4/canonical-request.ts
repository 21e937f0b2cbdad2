import { createHash, createHmac } from 'node:crypto'

/** How AWS calls Signature Version 4, with which libraries of AWS sign requests. */
export const ALGORITHM = 'AWS4-HMAC-SHA256'
/** SHA-256 of no bytes. */
export const EMPTY_HASH = createHash('sha256').digest('hex')
const END_OF_SCOPE = 'aws4_request'

/** For what a signature is good. */
export interface SignatureScope {
  /** `20261125` */
  readonly date: string
  readonly region: string
  readonly service: string
}

/** What a signature covers of a request. Texts are latin1: a character for each byte on the wire. */
export interface SignedRequest {
  readonly method: string
  /** As it is on the wire, with its query. */
  readonly target: string
  /** With lower-case names, in their order. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** SHA-256 of the body as it is on the wire, 64 hex digits. */
  readonly payloadHash: string
}

/** `us-east-1/bedrock` of a day, as it stands behind an access key id. */
export function scopeText({ date, region, service }: SignatureScope): string {
  return `${date}/${region}/${service}/${END_OF_SCOPE}`
}

/** The names of the headers that a signature covers. */
export function signedNames({ headers }: Pick<SignedRequest, 'headers'>): string {
  return headers.map(([name]) => name).join(';')
}

/**
 * The signature of a request: 64 hex digits.
 * Source: docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
 *
 * @param time as in `x-amz-date`: `20261125T220000Z`
 */
export function signatureOf(
  request: SignedRequest,
  time: string,
  scope: SignatureScope,
  secret: string,
): string {
  const hash = createHash('sha256').update(canonicalRequest(request), 'latin1').digest('hex')
  const toSign = `${ALGORITHM}\n${time}\n${scopeText(scope)}\n${hash}`
  const { date, region, service } = scope
  const key = [date, region, service, END_OF_SCOPE].reduce<string | Buffer>(
    (secretSoFar, part) => createHmac('sha256', secretSoFar).update(part).digest(),
    `AWS4${secret}`,
  )
  return createHmac('sha256', key).update(toSign, 'latin1').digest('hex')
}

/** The text of a request of which signatures are made. */
export function canonicalRequest(request: SignedRequest): string {
  const { method, target, headers, payloadHash } = request
  const queryStart = target.indexOf('?')
  const path = queryStart < 0 ? target : target.slice(0, queryStart)
  const query = queryStart < 0 ? '' : target.slice(queryStart + 1)
  const lines = headers.map(([name, value]) => `${name}:${value.trim().replace(/\s+/g, ' ')}\n`).join('')
  return [method, canonicalUri(path), canonicalQuery(query), lines, signedNames(request), payloadHash].join(
    '\n',
  )
}

/**
 * All services but S3 take the path as it is on the wire and encode it again: `%3A` in the name of a model is signed as
 * `%253A`.
 */
function canonicalUri(path: string): string {
  const segments: string[] = []
  for (const segment of path.split('/')) {
    if (segment === '..') segments.pop()
    else if (segment !== '' && segment !== '.') segments.push(encoded(segment))
  }
  const end = segments.length > 0 && path.endsWith('/') ? '/' : ''
  return `/${segments.join('/')}${end}`
}

function canonicalQuery(query: string): string {
  if (query === '') return ''
  const parameters: (readonly [name: string, value: string])[] = []
  for (const parameter of query.split('&')) {
    if (parameter === '') continue
    const equals = parameter.indexOf('=')
    const name = equals < 0 ? parameter : parameter.slice(0, equals)
    parameters.push([encodedAgain(name), equals < 0 ? '' : encodedAgain(parameter.slice(equals + 1))])
  }
  parameters.sort(([a, x], [b, y]) => compare(a, b) || compare(x, y))
  return parameters.map(([name, value]) => `${name}=${value}`).join('&')
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Whatever may have been encoded in another way, such as in lower case. */
function encodedAgain(text: string): string {
  return encoded(
    text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  )
}

const RESERVED = /[^A-Za-z0-9\-._~]/g

function encoded(text: string): string {
  return text.replace(
    RESERVED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  )
}
