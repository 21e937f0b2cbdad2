import { createHash } from 'node:crypto'
import { ALGORITHM, EMPTY_HASH, scopeText, signatureOf, signedNames } from './canonical-request.ts'

/** What a request to AWS is signed with. */
export interface SigningKey {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Of temporary credentials; `null`: these are not. */
  readonly sessionToken: string | null
}

/** Where a request goes, as its signature says it. */
export interface SigningPlace {
  readonly region: string
  readonly service: string
}

/** A request that is about to be sent. */
export interface RequestToSign {
  readonly method: string
  /** As it is written on the wire, with its query. */
  readonly target: string
  readonly host: string
  /** The whole body; `null`: none. */
  readonly body: Buffer | null
  /** The others that are sent: name, value, name, value, ... AWS wants all of its own to be signed. */
  readonly headers: readonly string[]
}

/**
 * The headers that sign a request: name, value, name, value, ... They cover the body, its target and host, and the
 * headers of AWS's own among the others.
 *
 * @param nowMs Wall clock, milliseconds since 1970.
 */
export function signatureHeaders(
  { method, target, host, body, headers }: RequestToSign,
  { accessKeyId, secretAccessKey, sessionToken }: SigningKey,
  place: SigningPlace,
  nowMs: number,
): string[] {
  const time = amzTime(nowMs)
  const scope = { ...place, date: time.slice(0, 8) }
  const payloadHash = body === null ? EMPTY_HASH : createHash('sha256').update(body).digest('hex')
  const own: (readonly [string, string])[] = [
    ['x-amz-content-sha256', payloadHash],
    ['x-amz-date', time],
  ]
  if (sessionToken !== null) own.push(['x-amz-security-token', sessionToken])
  const signed = [['host', host] as const, ...own, ...ownOfAws(headers)]
  signed.sort(([a], [b]) => (a < b ? -1 : 1))
  const request = { method, target, headers: signed, payloadHash }
  const signature = signatureOf(request, time, scope, secretAccessKey)
  const names = signedNames(request)
  return [
    ...own.flat(),
    'authorization',
    `${ALGORITHM} Credential=${accessKeyId}/${scopeText(scope)}, SignedHeaders=${names}, Signature=${signature}`,
  ]
}

/** One that stands there twice is one list. */
function ownOfAws(headers: readonly string[]): (readonly [string, string])[] {
  const found = new Map<string, string>()
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = (headers[i] ?? '').toLowerCase()
    if (!name.startsWith('x-amz-')) continue
    const before = found.get(name)
    const value = headers[i + 1] ?? ''
    found.set(name, before === undefined ? value : `${before},${value}`)
  }
  return [...found]
}

/** `20261125T220000Z` */
function amzTime(ms: number): string {
  return new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '')
}
