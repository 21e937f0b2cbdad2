import type { Configuration } from 'openid-client'
import type { OidcConfig, SignInConfig } from '../../config/yaml/sign-in-config.ts'
import { claimAt } from '../../domain/claims.ts'
import { isName } from '../../domain/names.ts'
import { CredentialKeeper, type KeptState } from '../../lib/credential-keeper.ts'
import type { Logger } from '../../lib/logger.ts'
import { atMostEvery } from '../../lib/repeat.ts'

const SKEW_SECONDS = 30
const TIMEOUT_SECONDS = 10
/** A sign-in that failed has the provider asked again, and many that fail have not. */
const ASKED_AGAIN_MS = 30_000

/** Kept by the browser between the two steps of a sign-in, sealed. */
export interface BegunSignIn {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/** A person whom the provider vouches for. */
export interface SignedInPerson {
  /** What the provider knows the person by, always. */
  readonly subject: string
  readonly name: string
  /** What the claim of groups has: texts, and whatever else a provider writes there. */
  readonly groups: ReadonlySet<unknown>
}

/** What `openid-client` and the provider do of a sign-in. */
export interface SignInProvider<Config extends OidcConfig = SignInConfig> {
  readonly config: Config
  /** Where to send the browser; `null`: the provider was not reached yet. */
  begin(): Promise<{ readonly url: string; readonly begun: BegunSignIn } | null>
  /**
   * Exchanges the code of an answer for a person.
   *
   * @param search The query of the answer, with its `?`.
   * @throws Where anything of it is not as it was begun: state, nonce, issuer, audience, signature, time.
   */
  finish(search: string, begun: BegunSignIn): Promise<SignedInPerson>
  /** Where a browser signs out at the provider, too; `null`: it has no such page. */
  endUrl(): Promise<string | null>
  state(): KeptState
  stop(): void
}

/** Where people sign in. */
export interface SignInPlace {
  readonly whose: 'operators' | 'members'
  /** The path of the sign-in, which the answers of the provider come to below. */
  readonly path: string
  /** The page that they come from, and leave to. */
  readonly home: string
}

/** Of operators, at their own listener. */
export const OPERATORS: SignInPlace = { whose: 'operators', path: '/sign-in', home: '/dashboard' }

/** Of members, at the listener of the clients' page, below the one path that a proxy may lead there. */
export const MEMBERS: SignInPlace = { whose: 'members', path: '/portal/sign-in', home: '/portal' }

type Client = typeof import('openid-client')

/** Opens it: the provider is asked for its addresses in the background, and may be away. */
export function openSignIn<Config extends OidcConfig>(
  config: Config,
  log: Logger,
  { whose, path, home }: SignInPlace = OPERATORS,
): SignInProvider<Config> {
  // Only those load it who sign in.
  const loaded: Promise<Client> = import('openid-client')
  const keeper = new CredentialKeeper<Configuration>({
    fetch: async () => ({ value: await discover(await loaded, config), endsAtMs: null }),
    onChange(problem) {
      if (problem === null)
        log.info({ event: 'sign_in.provider_reached', whose }, `${whose} can sign in again`)
      else
        log.warn(
          { event: 'sign_in.provider_away', whose, reason: problem },
          `the identity provider of ${whose} is not reached; their tokens go on`,
        )
    },
  })
  const askedAgain = atMostEvery(ASKED_AGAIN_MS)
  const callback = `${config.publicUrl}${path}/callback`
  const reached = async (): Promise<Configuration | null> => {
    await keeper.usable()
    return keeper.current()
  }
  return {
    config,
    async begin() {
      const client = await loaded
      const provider = await reached()
      if (provider === null) return null
      const begun = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
      }
      const url = client.buildAuthorizationUrl(provider, {
        redirect_uri: callback,
        scope: config.scope,
        state: begun.state,
        nonce: begun.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(begun.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, begun }
    },
    async finish(search, begun) {
      const client = await loaded
      const provider = await reached()
      if (provider === null) throw new Error('the identity provider is not reached')
      try {
        return await exchange(client, provider, new URL(`${callback}${search}`), begun, config)
      } catch (error) {
        // The provider may have new keys: the next sign-in is judged by what it says then.
        if (askedAgain.passes()) await keeper.renewed()
        throw error
      }
    },
    async endUrl() {
      const client = await loaded
      const provider = await reached()
      if (provider?.serverMetadata().end_session_endpoint === undefined) return null
      return client.buildEndSessionUrl(provider, {
        post_logout_redirect_uri: `${config.publicUrl}${home}`,
      }).href
    },
    state: () => keeper.state(),
    stop: () => keeper.stop(),
  }
}

async function exchange(
  client: Client,
  provider: Configuration,
  answered: URL,
  { state, nonce, verifier }: BegunSignIn,
  config: OidcConfig,
): Promise<SignedInPerson> {
  const answer = await client.authorizationCodeGrant(provider, answered, {
    expectedState: state,
    expectedNonce: nonce,
    pkceCodeVerifier: verifier,
    idTokenExpected: true,
  })
  const claims = answer.claims()
  if (claims === undefined) throw new Error('the provider gave no ID token')
  const isWhole = [config.groups, config.name].every((path) => claimAt(claims, path) !== undefined)
  const hasMore = !isWhole && provider.serverMetadata().userinfo_endpoint !== undefined
  const more = hasMore ? await client.fetchUserInfo(provider, answer.access_token, claims.sub) : {}
  return personOf({ ...more, ...claims }, claims.sub, config)
}

async function discover(client: Client, config: OidcConfig): Promise<Configuration> {
  const issuer = new URL(config.issuer)
  const provider = await client.discovery(
    issuer,
    config.clientId,
    { [client.clockTolerance]: SKEW_SECONDS },
    config.clientSecret === null ? client.None() : client.ClientSecretBasic(config.clientSecret),
    {
      timeout: TIMEOUT_SECONDS,
      // Plain HTTP is taken from this machine alone, by the check of the configuration.
      execute: issuer.protocol === 'http:' ? [client.allowInsecureRequests] : [],
    },
  )
  // TLS would be enough by the specification; a signature is checked all the same.
  client.enableNonRepudiationChecks(provider)
  return provider
}

function personOf(
  claims: Readonly<Record<string, unknown>>,
  subject: string,
  { groups: path, name: namePath }: OidcConfig,
): SignedInPerson {
  // An address that was not verified may be that of another person. Some providers write the word as a text.
  const { email_verified: verified = true } = claims
  const isTheirs = namePath.join() !== 'email' || verified === true || verified === 'true'
  const name = isTheirs ? claimAt(claims, namePath) : undefined
  return {
    subject,
    name: typeof name === 'string' && isName(name) ? name : subject,
    groups: new Set([claimAt(claims, path)].flat()),
  }
}
