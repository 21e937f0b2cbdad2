import { type CryptoKey, importJWK } from 'jose'
import { z } from 'zod'
import { parsedJson } from '../../domain/json.ts'
import type { CallLater } from '../../lib/call-later.ts'
import { CredentialKeeper, type Fetched, type KeptState } from '../../lib/credential-keeper.ts'
import { atMostEvery } from '../../lib/repeat.ts'
import { askEndpoint } from '../credentials/token-request.ts'

/** Keys that were fetched last are good for so long while their provider is away. */
const GOOD_MS = 24 * 3_600_000
/** A token with an unknown key has them fetched again; a client that sends many has not. */
const ASKED_AGAIN_MS = 30_000
/** A set in use has fewer. */
const MOST_KEYS = 100
const LEAST_RSA_BITS = 2_048

/** A public key of a provider, as one algorithm uses it. */
interface PublicKey {
  readonly kid: string | null
  readonly alg: string
  /** All that was written of it. */
  readonly text: string
  readonly key: CryptoKey
}

interface KeySet {
  readonly keys: readonly PublicKey[]
  readonly fetchedAtMs: number
}

/** Members that are read. A key that is embedded in a token, or that an address in it leads to, is never looked at. */
const jwk = z.object({
  kty: z.enum(['RSA', 'EC', 'OKP']),
  kid: z.string().optional(),
  use: z.string().optional(),
  alg: z.string().optional(),
  key_ops: z.array(z.string()).optional(),
  crv: z.string().optional(),
  n: z.string().optional(),
  e: z.string().optional(),
  x: z.string().optional(),
  y: z.string().optional(),
})
type Jwk = z.output<typeof jwk>

const jwks = z.object({ keys: z.array(z.unknown()) })

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const OF_CURVE: Readonly<Record<string, string>> = {
  'P-256': 'ES256',
  'P-384': 'ES384',
  'P-521': 'ES512',
  Ed25519: 'EdDSA',
}

export interface IssuerKeysOptions {
  readonly jwksUrl: string
  readonly algorithms: readonly string[]
  /** The keys cannot be fetched, or can again. */
  readonly onChange: (problem: string | null) => void
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
  readonly later?: CallLater
  /** Absent: it is asked by HTTP. */
  readonly ask?: (url: string) => Promise<string>
}

/**
 * The public keys of an identity provider: fetched in the background every five minutes, and good for a day while they
 * cannot be. Nothing that a client sends says where from, and only twice a minute that they be fetched at once.
 */
export class IssuerKeys {
  readonly #now: () => number
  readonly #keeper: CredentialKeeper<KeySet>
  readonly #askedAgain = atMostEvery(ASKED_AGAIN_MS)

  /** Begins to fetch. */
  constructor({ jwksUrl, algorithms, onChange, now, later, ask = byHttp }: IssuerKeysOptions) {
    this.#now = now
    this.#keeper = new CredentialKeeper({
      fetch: async (): Promise<Fetched<KeySet>> => {
        const text = await ask(jwksUrl)
        const keys = await readKeySet(text, algorithms, this.#keeper.current()?.keys ?? [])
        return { value: { keys, fetchedAtMs: now() }, endsAtMs: null }
      },
      onChange,
      now,
      ...(later === undefined ? {} : { later }),
    })
  }

  /** The key that a token names; `null`: there is none. `unavailable`: none could be fetched, or not for a day. */
  async find(kid: string | null, alg: string): Promise<CryptoKey | null | 'unavailable'> {
    await this.#keeper.usable()
    const found = this.#findNow(kid, alg)
    if (found !== null || !this.#askedAgain.passes()) return found
    await this.#keeper.renewed()
    return this.#findNow(kid, alg)
  }

  /** Whether a key that was found is still one of the set, and the set is in force. */
  has(key: CryptoKey): boolean {
    return this.#current()?.keys.some((one) => one.key === key) === true
  }

  state(): KeptState {
    const state = this.#keeper.state()
    return { ...state, isUsable: this.#current() !== null }
  }

  stop(): void {
    this.#keeper.stop()
  }

  #findNow(kid: string | null, alg: string): CryptoKey | null | 'unavailable' {
    const set = this.#current()
    if (set === null) return 'unavailable'
    const fitting = set.keys.filter((key) => key.alg === alg && (kid === null || key.kid === kid))
    // Of two, one would be guessed.
    return fitting.length === 1 ? (fitting[0]?.key ?? null) : null
  }

  #current(): KeySet | null {
    const set = this.#keeper.current()
    return set === null || this.#now() - set.fetchedAtMs > GOOD_MS ? null : set
  }
}

async function byHttp(url: string): Promise<string> {
  return await askEndpoint({ url })
}

/**
 * @param before Those of the set before: a key that is written as it was is the same object.
 * @throws Where it is not a JWKS, or has no key that fits: the ones before are better than none.
 */
async function readKeySet(
  text: string,
  algorithms: readonly string[],
  before: readonly PublicKey[],
): Promise<readonly PublicKey[]> {
  const parsed = jwks.safeParse(parsedJson(text))
  if (!parsed.success) throw new Error('the answer at jwks_url is not a set of keys')
  const keys: PublicKey[] = []
  for (const one of parsed.data.keys.slice(0, MOST_KEYS)) {
    const key = jwk.safeParse(one)
    if (!key.success || !isForSignatures(key.data)) continue
    for (const alg of algorithmsOf(key.data).filter((taken) => algorithms.includes(taken))) {
      const written = JSON.stringify(key.data)
      const same = before.find((known) => known.alg === alg && known.text === written)
      const imported = same?.key ?? (await publicKeyOf(key.data, alg))
      if (imported !== null) keys.push({ kid: key.data.kid ?? null, alg, text: written, key: imported })
    }
  }
  if (keys.length === 0) throw new Error('no key at jwks_url is for one of the algorithms')
  return keys
}

function isForSignatures({ use = 'sig', key_ops: uses = ['verify'] }: Jwk): boolean {
  return use === 'sig' && uses.includes('verify')
}

function algorithmsOf({ kty, crv = '', alg }: Jwk): readonly string[] {
  const all = kty === 'RSA' ? RSA : [OF_CURVE[crv] ?? []].flat()
  return alg === undefined ? all : all.filter((one) => one === alg || (alg === 'Ed25519' && one === 'EdDSA'))
}

async function publicKeyOf({ kty, crv, n, e, x, y }: Jwk, alg: string): Promise<CryptoKey | null> {
  if (kty === 'RSA' && Buffer.from(n ?? '', 'base64url').length * 8 < LEAST_RSA_BITS) return null
  const members = Object.entries({ kty, crv, n, e, x, y }).filter(([, value]) => value !== undefined)
  const key = await importJWK(Object.fromEntries(members), alg).catch(() => null)
  return key === null || key instanceof Uint8Array ? null : key
}
