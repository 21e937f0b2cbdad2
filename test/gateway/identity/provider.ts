import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import type { CallerLookup } from '../../../src/call/call-ports.ts'
import type { TokenIssuer } from '../../../src/config/yaml/identity-config.ts'
import type { ClaimedValues } from '../../../src/gateway/axes/claimed-values.ts'
import { Identities } from '../../../src/gateway/identity/identities.ts'
import { IssuerKeys } from '../../../src/gateway/identity/key-set.ts'
import type { ProvenToken } from '../../../src/gateway/identity/verify-token.ts'
import { type Identity, identityKeyId, type Registration } from '../../../src/keys/identities.ts'

export const ISSUER = 'https://login.example.com/'
export const AUDIENCE = 'tallygate'
export const JWKS_URL = 'https://login.example.com/keys'

export const CORP: TokenIssuer = {
  name: 'corp',
  issuer: ISSUER,
  audiences: [AUDIENCE],
  jwksUrl: JWKS_URL,
  algorithms: ['RS256', 'ES256', 'EdDSA'],
  skewSeconds: 30,
  maxLifetimeSeconds: 86_400,
  subject: ['sub'],
  client: { kind: 'claim', path: ['team'] },
  revokedFile: null,
}

export type Members = Readonly<Record<string, unknown>>

/** Keys of one provider: two in use, one that its set has not. */
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' })

export const KEYS = { rsa, ec, foreign }

export function jwksOf(...keys: readonly (readonly [kid: string, key: KeyObject])[]): string {
  return JSON.stringify({
    keys: keys.map(([kid, key]) => ({ ...key.export({ format: 'jwk' }), kid, use: 'sig' })),
  })
}

export const JWKS = jwksOf(['rsa-1', rsa.publicKey], ['ec-1', ec.publicKey])

export function base64url(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url')
}

/** Signs any two texts, as the algorithm of the key's kind says. */
export function signTexts(header: string, payload: string, key: KeyObject = ec.privateKey): string {
  const signed = `${base64url(header)}.${base64url(payload)}`
  const by = key.asymmetricKeyType === 'ec' ? ({ key, dsaEncoding: 'ieee-p1363' } as const) : key
  return `${signed}.${base64url(sign('sha256', Buffer.from(signed), by))}`
}

export function claimsAt(nowMs: number, more: Members = {}): Members {
  const now = Math.floor(nowMs / 1_000)
  return { iss: ISSUER, aud: AUDIENCE, sub: 'ann', team: 'research', iat: now, exp: now + 600, ...more }
}

/** A token as the provider makes it, with members changed; `undefined` leaves one out. */
export function tokenOf(
  nowMs: number,
  claims: Members = {},
  header: Members = {},
  key = ec.privateKey,
): string {
  const kid = key === rsa.privateKey ? 'rsa-1' : 'ec-1'
  const alg = key === rsa.privateKey ? 'RS256' : 'ES256'
  return signTexts(
    JSON.stringify({ alg, kid, typ: 'JWT', ...header }),
    JSON.stringify(claimsAt(nowMs, claims)),
    key,
  )
}

/** The same of claims as text: JSON.stringify writes no number as long as some ids. */
export function tokenOfText(claims: string): string {
  return signTexts(JSON.stringify({ alg: 'ES256', kid: 'ec-1', typ: 'JWT' }), claims)
}

/** Identities without stores: clients `research` and `sales`, and what happens to their keys. */
export function standIn(
  nowMs: () => number,
  change: Partial<TokenIssuer> = {},
  jwks: string | Error = JWKS,
  claimed?: ClaimedValues,
) {
  const issuer = { ...CORP, ...change }
  const state = {
    jwks,
    fetches: [] as string[],
    registered: [] as Identity[],
    revoked: new Set<string>(),
    lookups: 0,
    isStoreAway: false,
    refusal: null as Registration | null,
  }
  const known = new Map<string, CallerLookup>()
  const later: (() => void)[] = []
  const keys = new IssuerKeys({
    ...issuer,
    now: nowMs,
    onChange() {},
    later(_ms, then) {
      later.push(then)
      return () => void later.splice(later.indexOf(then), 1)
    },
    async ask(url) {
      state.fetches.push(url)
      if (state.jwks instanceof Error) throw state.jwks
      return state.jwks
    },
  })
  const identities = new Identities({
    issuers: new Map([[issuer.issuer, { issuer, keys }]]),
    keys: {
      find: () => ({ kind: 'unknown' }),
      findIdentity(keyId) {
        state.lookups += 1
        return known.get(keyId) ?? { kind: 'unknown' }
      },
    },
    async register(identity) {
      if (state.isStoreAway) throw new Error('the store is away')
      if (state.refusal !== null) return state.refusal
      if (!['research', 'sales'].includes(identity.client)) return 'client'
      state.registered.push(identity)
      const keyId = identityKeyId(identity)
      const { client, subject } = identity
      known.set(keyId, {
        kind: 'active',
        caller: { clientId: `cli_${client}`, clientName: client, keyId, keyName: subject, models: null },
      })
      return 'made'
    },
    claimed,
    isRevoked: ({ subject, tokenId }: ProvenToken) =>
      state.revoked.has(`sub ${subject}`) || state.revoked.has(`jti ${tokenId}`),
    now: nowMs,
  })
  return {
    identities,
    keys,
    state,
    known,
    /** The time of the next fetch in the background has come. */
    async refetch() {
      for (const then of later.splice(0)) then()
      await keys.find('nobody', 'none')
    },
  }
}
