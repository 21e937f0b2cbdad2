import { hash } from 'node:crypto'
import type { Caller, CallerLookup } from '../../call/call-ports.ts'
import type { ClientRule } from '../../config/yaml/identity-config.ts'
import { claimAt } from '../../domain/claims.ts'
import { isName } from '../../domain/names.ts'
import { type Identity, identityKeyId, type Registration } from '../../keys/identities.ts'
import type { KeyDirectory } from '../../keys/key-directory.ts'
import type { ClaimedValues } from '../axes/claimed-values.ts'
import {
  isTokenLike,
  type KnownIssuer,
  type ProvenToken,
  type ReadToken,
  TOKEN_FAULTS,
  type TokenFault,
  verifyToken,
} from './verify-token.ts'

/** Some megabytes. Beyond that tokens are verified again at their next use. */
const MOST_TOKENS = 10_000
/** Who has no client, and goes on calling, is looked for so often. */
const REFUSED_MS = 5_000
const MOST_REFUSED = 1_000

const UNAVAILABLE: CallerLookup = { kind: 'unavailable' }

/** A token that was verified, and whose key it leads to. */
interface KnownToken {
  readonly token: ProvenToken
  readonly keyId: string
  /** The name of the client that it leads to. */
  readonly client: string
  readonly claimed: Caller['claimed']
  /** What the keys said of it last, and the same as an answer about this token. */
  of: CallerLookup | null
  answer: CallerLookup
}

export interface IdentitiesOptions {
  /** By what they call themselves. */
  readonly issuers: ReadonlyMap<string, KnownIssuer>
  readonly keys: Pick<KeyDirectory, 'find' | 'findIdentity'>
  /** Makes the key of one that is seen for the first time. Rejects without Postgres. */
  readonly register: (identity: Identity) => Promise<Registration>
  readonly isRevoked: (token: ProvenToken) => boolean
  /** What the claims of a token say for axes; absent: no axis reads claims. */
  readonly claimed?: ClaimedValues | undefined
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Callers without a key of ours: by a token of the company's identity provider, or by headers of the operator's own
 * proxy. Each identity is a key without a text, so all that holds for keys holds for it. A token is verified once, off
 * the event loop, and after that found by its digest.
 */
export class Identities {
  readonly #options: IdentitiesOptions
  readonly #tokens = new Map<string, KnownToken>()
  readonly #refused = new Map<string, { readonly until: number; readonly lookup: CallerLookup }>()
  readonly #registering = new Map<string, Promise<CallerLookup>>()

  constructor(options: IdentitiesOptions) {
    this.#options = options
  }

  /** The caller with a key of ours or a token. Synchronous for those that are known. */
  find(key: string): CallerLookup | Promise<CallerLookup> {
    if (!isTokenLike(key)) return this.#options.keys.find(key)
    const digest = hash('sha256', key, 'base64')
    const known = this.#tokens.get(digest)
    if (known !== undefined) {
      const answer = this.#answerOf(known)
      if (answer !== null) return answer
    }
    return this.#verify(key, digest)
  }

  /** The caller that the operator's own proxy vouches for. */
  findVouched(subject: string, client: string): CallerLookup | Promise<CallerLookup> {
    return this.#findKey({ source: 'proxy', issuer: 'proxy', subject, client })
  }

  /** `null`: its key has gone, or the store has to be asked. */
  #answerOf(known: KnownToken): CallerLookup | null {
    const { token, keyId, client } = known
    if (this.#options.now() >= token.endsAtMs) return refused('expired')
    if (this.#options.isRevoked(token)) return refused('revoked')
    if (!token.hasKey()) return null
    const found = this.#options.keys.findIdentity(keyId)
    if (found instanceof Promise) {
      found.catch(() => {})
      return null
    }
    if (found !== known.of) {
      known.of = found
      known.answer = this.#withToken(ofClient(found, client), token, known.claimed)
    }
    return known.answer
  }

  async #verify(text: string, digest: string): Promise<CallerLookup> {
    const read = await verifyToken(text, this.#options.issuers, this.#options.now())
    if (read === 'unavailable') return UNAVAILABLE
    if (typeof read === 'string') return refused(read)
    // Kilobytes, of which only the values for axes are of use later.
    const { claims, ...token } = read
    if (this.#options.isRevoked(token)) return refused('revoked')
    const client = clientOf(read)
    if (client === null) return refused('client')
    const { issuer, subject } = token
    const identity = { source: issuer.name, issuer: issuer.issuer, subject, client }
    const found = await this.#findKey(identity)
    if (found.kind === 'active') {
      const claimed = this.#options.claimed?.(claims)
      if (this.#tokens.size >= MOST_TOKENS) this.#tokens.clear()
      const known = {
        token,
        keyId: identityKeyId(identity),
        client,
        claimed,
        of: found,
        answer: this.#withToken(found, token, claimed),
      }
      this.#tokens.set(digest, known)
      return known.answer
    }
    return found
  }

  #findKey(identity: Identity): CallerLookup | Promise<CallerLookup> {
    const keyId = identityKeyId(identity)
    const refusal = this.#refused.get(keyId)
    if (refusal !== undefined && performance.now() < refusal.until) return refusal.lookup
    const found = this.#options.keys.findIdentity(keyId)
    if (found instanceof Promise) return found.then((asked) => this.#orRegistered(asked, identity, keyId))
    return this.#orRegistered(found, identity, keyId)
  }

  #orRegistered(
    found: CallerLookup,
    identity: Identity,
    keyId: string,
  ): CallerLookup | Promise<CallerLookup> {
    if (found.kind !== 'unknown') return ofClient(found, identity.client)
    const running = this.#registering.get(keyId)
    if (running !== undefined) return running
    const registering = this.#register(identity, keyId).finally(() => this.#registering.delete(keyId))
    this.#registering.set(keyId, registering)
    return registering
  }

  async #register(identity: Identity, keyId: string): Promise<CallerLookup> {
    const result = await this.#options.register(identity)
    if (result === 'made') return await this.#options.keys.findIdentity(keyId)
    const lookup = refused(result)
    if (this.#refused.size >= MOST_REFUSED) this.#refused.clear()
    this.#refused.set(keyId, { until: performance.now() + REFUSED_MS, lookup })
    return lookup
  }

  #withToken(found: CallerLookup, token: ProvenToken, claimed: Caller['claimed']): CallerLookup {
    if (found.kind !== 'active') return found
    const isTokenOver = () => this.#options.isRevoked(token) || !token.hasKey()
    const caller = { ...found.caller, tokenEndsAtMs: token.endsAtMs, isTokenOver }
    return { kind: 'active', caller: claimed === undefined ? caller : { ...caller, claimed } }
  }
}

/** A client that was renamed is not found by its old name, which another one may have by now. */
function ofClient(found: CallerLookup, name: string): CallerLookup {
  return found.kind === 'active' && found.caller.clientName !== name ? refused('client') : found
}

function refused(fault: TokenFault): CallerLookup {
  return { kind: 'token_refused', reason: `token_${fault}`, because: TOKEN_FAULTS[fault] }
}

/** The name of the client that a token leads to; `null`: to none. */
function clientOf({ issuer, claims }: ReadToken): string | null {
  return clientBy(issuer.client, claims)
}

function clientBy(rule: ClientRule, claims: Readonly<Record<string, unknown>>): string | null {
  switch (rule.kind) {
    case 'fixed':
      return rule.name
    case 'claim': {
      const value = claimAt(claims, rule.path)
      // Several would be a choice of the client's.
      const [only, ...others] = [value].flat()
      return others.length === 0 && typeof only === 'string' && isName(only) ? only : null
    }
    case 'map': {
      const values = new Set([claimAt(claims, rule.path)].flat())
      return rule.names.find(([value]) => values.has(value))?.[1] ?? null
    }
    default:
      return rule satisfies never
  }
}
