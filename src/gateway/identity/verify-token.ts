import { errors, jwtVerify } from 'jose'
import type { TokenIssuer } from '../../config/yaml/identity-config.ts'
import { claimAt, idText, parseExactly } from '../../domain/claims.ts'
import { isObject } from '../../domain/json.ts'
import type { IssuerKeys } from './key-set.ts'

/** Longer tokens are refused unread. */
export const MAX_TOKEN_LENGTH = 8_192
/** A subject or an id of a token is a short text. */
const MAX_TEXT = 256
/** A token has a few. Thousands cost the event loop a millisecond. */
const MOST_DEPTH = 32

/** Why a token is refused, as metrics and clients see it. */
export const TOKEN_FAULTS = {
  too_long: 'it is longer than 8 KB',
  malformed: 'it is not a JWT in its one form of writing',
  issuer: 'its issuer is not taken here',
  algorithm: 'its algorithm is not taken here',
  key: 'its issuer has no such key',
  signature: 'its signature is wrong',
  audience: 'it is for another audience',
  expired: 'it has expired',
  not_yet: 'it is not valid yet',
  lifetime: 'it says no end, or one that is too far away',
  subject: 'it has no subject',
  client: 'it leads to no client',
  full: 'there are as many identities or clients as may be',
  revoked: 'it is revoked',
} as const

export type TokenFault = keyof typeof TOKEN_FAULTS

/** A token whose signature is right. */
export interface ProvenToken {
  readonly issuer: TokenIssuer
  readonly subject: string
  /** `null`: it has none. */
  readonly tokenId: string | null
  /** Milliseconds since 1970, with the skew. */
  readonly endsAtMs: number
  /** Whether its issuer still has the key that it is signed by. */
  readonly hasKey: () => boolean
}

/** The same, with all that it says. */
export interface ReadToken extends ProvenToken {
  readonly claims: Readonly<Record<string, unknown>>
}

/** An issuer with its keys. */
export interface KnownIssuer {
  readonly issuer: TokenIssuer
  readonly keys: Pick<IssuerKeys, 'find' | 'has'>
}

const FORM = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/

/** Whether a text in place of a key is meant as a JWT: `{"` in base64url. */
export function isTokenLike(text: string): boolean {
  return text.startsWith('eyJ')
}

/**
 * Checks a token: its form, issuer, algorithm and key before anything is computed, then the signature, by WebCrypto off
 * the event loop, and its claims. `unavailable`: the keys of its issuer could not be fetched.
 */
export async function verifyToken(
  token: string,
  issuers: ReadonlyMap<string, KnownIssuer>,
  nowMs: number,
): Promise<ReadToken | TokenFault | 'unavailable'> {
  if (token.length > MAX_TOKEN_LENGTH) return 'too_long'
  const [, head, body, signature] = FORM.exec(token) ?? []
  if (head === undefined || body === undefined || signature === undefined) return 'malformed'
  const header = membersOf(head)
  const claims = membersOf(body)
  if (header === null || claims === null || !isCanonical(signature)) return 'malformed'
  // Extensions that a reader has to understand: there are none here.
  if (Object.hasOwn(header, 'crit') || Object.hasOwn(header, 'b64')) return 'malformed'

  const { iss } = claims
  const known = typeof iss === 'string' ? issuers.get(iss) : undefined
  if (known === undefined) return 'issuer'
  const { issuer, keys } = known
  const { alg, kid = null } = header
  if (typeof alg !== 'string' || !issuer.algorithms.includes(alg)) return 'algorithm'
  if (kid !== null && (typeof kid !== 'string' || kid.length > MAX_TEXT)) return 'key'
  // Others would pass a check that reads their first characters as a number, or none.
  if (!isTime(claims.exp, true) || !isTime(claims.nbf) || !isTime(claims.iat)) return 'lifetime'
  const endsAtMs = (Number(claims.exp) + issuer.skewSeconds) * 1_000
  if (Number(claims.exp) * 1_000 - nowMs > issuer.maxLifetimeSeconds * 1_000) return 'lifetime'

  const key = await keys.find(kid, alg)
  if (key === 'unavailable') return 'unavailable'
  if (key === null) return 'key'
  try {
    await jwtVerify(token, key, {
      algorithms: [alg],
      issuer: issuer.issuer,
      audience: [...issuer.audiences],
      clockTolerance: issuer.skewSeconds,
      currentDate: new Date(nowMs),
    })
  } catch (error) {
    return faultOf(error)
  }
  if (Number(claims.iat ?? 0) * 1_000 > nowMs + issuer.skewSeconds * 1_000) return 'not_yet'
  const subject = claimAt(claims, issuer.subject)
  if (typeof subject !== 'string' || subject === '' || subject.length > MAX_TEXT) return 'subject'
  const { jti } = claims
  // A number is none by the standard, and stands in lists all the same.
  return { issuer, subject, tokenId: idText(jti), endsAtMs, hasKey: () => keys.has(key), claims }
}

function faultOf(error: unknown): TokenFault {
  if (error instanceof errors.JWTExpired) return 'expired'
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'aud') return 'audience'
    return error.claim === 'nbf' ? 'not_yet' : 'lifetime'
  }
  return 'signature'
}

function isTime(value: unknown, isNeeded = false): boolean {
  return value === undefined ? !isNeeded : typeof value === 'number' && Number.isFinite(value) && value >= 0
}

/** Base64url has one form for the same bytes. Another one would be another token to those who keep lists. */
function isCanonical(part: string): boolean {
  return Buffer.from(part, 'base64url').toString('base64url') === part
}

/** A part of a token as a JSON object; `null`: it is none, or two readers could read two of it. */
function membersOf(part: string): Readonly<Record<string, unknown>> | null {
  if (!isCanonical(part)) return null
  const bytes = Buffer.from(part, 'base64url')
  const json = bytes.toString('utf8')
  if (!Buffer.from(json, 'utf8').equals(bytes)) return null
  try {
    const value: unknown = parseExactly(json)
    return isObject(value) && countMembers(value) === colonsIn(json) ? value : null
  } catch {
    return null
  }
}

/**
 * The members of all objects in a value. The text has more colons than that where it names one twice.
 *
 * @throws {RangeError} Where it is nested so deep that the stack would end.
 */
function countMembers(value: unknown, depth = 0): number {
  if (typeof value !== 'object' || value === null) return 0
  if (depth > MOST_DEPTH) throw new RangeError('a token is nested too deep')
  const inside = Object.values(value).reduce((sum: number, one) => sum + countMembers(one, depth + 1), 0)
  return Array.isArray(value) ? inside : inside + Object.keys(value).length
}

/** Colons outside of texts, in JSON that was parsed. */
function colonsIn(json: string): number {
  return json.replace(/"(?:[^"\\]|\\.)*"/gs, '').split(':').length - 1
}
