import type { z } from 'zod'
import { NO_PATH_RULES, type PathRules } from '../../domain/path-patterns.ts'
import { placeOfUpstream, type UpstreamPlace } from '../../pricing/places/upstream-places.ts'
import { entryOf, modelListPathOf, PROVIDERS, type Provider } from '../../providers/registry.ts'
import type { Environment, EnvironmentName } from '../environment.ts'
import { choice, readVariables, upstreamUrl, word } from '../variables.ts'
import { CREDENTIAL_KINDS, readCredentials, type UpstreamCredentials } from './credentials-config.ts'

/** A backend that calls can be sent to. */
export interface UpstreamConfig {
  readonly name: string
  /** `scheme://host[:port]`, without a trailing slash. */
  readonly origin: string
  /**
   * What stands between `origin` and a call's path: '' or `/x`, never ending in '/'. A trailing `/v1` of the
   * configured URL is not in it, as the paths of calls bring their own: so the upstream's address is
   * `origin + basePath + path`.
   */
  readonly basePath: string
  readonly provider: Provider
  readonly apiKey: string | null
  /** What its requests are proven with in place of a key; `null`: nothing else. */
  readonly credentials: UpstreamCredentials | null
  /** The client's own credential goes there, and the provider bills the client. */
  readonly takesClients: boolean
  /** Exact names or `prefix*`: calls that name these models go here; `null`: none by name. */
  readonly models: readonly string[] | null
  /** Path and query of its list of models, behind `basePath`; `null`: it has none that is fetched. */
  readonly modelsPath: string | null
  /** Calls under it go here, the prefix taken off; `/x`, never ending in '/'. */
  readonly pathPrefix: string | null
  readonly includeUsage: 'auto' | 'always' | 'never'
  /** The cost that the provider reports for a call is used in place of the catalog. */
  readonly trustReportedCost: boolean
  /** Whose prices hold there, one of `PRICES_OF`; `null`: the provider's own. */
  readonly pricesOf: string | null
  /** Where it serves, as far as prices depend on that; `null`: they do not, or each call says it. */
  readonly place: UpstreamPlace | null
  /** Which calls may go there. */
  readonly paths: PathRules
  /** `owned`: a client sees and uses only the files, batches, responses, ... that it made. `shared`: all of them. */
  readonly objects: 'owned' | 'shared'
  /** Whether its connections are used again. */
  readonly keepAlive: boolean
}

const PATTERNS = PROVIDERS.flatMap((provider) =>
  entryOf(provider).hosts.map((host) => ({ provider, pattern: hostPattern(host) })),
)

function hostPattern(host: string): RegExp {
  const anySubdomains = host.startsWith('*.')
  const literal = (anySubdomains ? host.slice(2) : host).replaceAll('.', '\\.').replaceAll('*', '[a-z0-9-]+')
  return new RegExp(`^${anySubdomains ? '([a-z0-9-]+\\.)+' : ''}${literal}$`)
}

/** The provider that serves at `host` (lower case, without port); any other host's is `openai-compatible`. */
export function providerOfHost(host: string): Provider {
  return PATTERNS.find(({ pattern }) => pattern.test(host))?.provider ?? 'openai-compatible'
}

/**
 * Whether the cost that `host` reports is believed unless the configuration says otherwise. Decided by the address: what
 * else a configuration calls by that provider's name (a proxy, a mock) may report anything.
 */
export function saysItsCost(host: string): boolean {
  return entryOf(providerOfHost(host)).reportsCost === true
}

/** Whose prices hold at `host`, as far as the host alone tells; `null`: those of its provider. */
export function pricesOfHost(provider: Provider, host: string): string | null {
  const regional = entryOf(provider).catalog?.regional
  return regional?.holdsAt(host.toLowerCase()) === true ? regional.name : null
}

const upstreamVariables = {
  UPSTREAM_URL: upstreamUrl.nullable(),
  UPSTREAM_API_KEY: word.nullable(),
  UPSTREAM_PROVIDER: choice(PROVIDERS).nullable(),
  UPSTREAM_CREDENTIALS: choice(CREDENTIAL_KINDS).nullable(),
} as const satisfies Partial<Record<EnvironmentName, z.ZodType>>

/** The upstream that UPSTREAM_URL describes, named `default`; `null`: it is unset, or wrong. */
export function readEnvironmentUpstream(env: Environment, problems: string[]): UpstreamConfig | null {
  const values = readVariables(env, upstreamVariables, problems)
  if (values === null) return null
  const { UPSTREAM_URL: address, UPSTREAM_API_KEY: apiKey, UPSTREAM_PROVIDER: named } = values
  if (address === null) return null
  const provider = named ?? providerOfHost(address.host)
  const place = { provider, host: address.host.toLowerCase(), hasApiKey: apiKey !== null }
  const credentials = values.UPSTREAM_CREDENTIALS ?? undefined
  return {
    name: 'default',
    origin: address.origin,
    basePath: address.basePath,
    provider,
    apiKey,
    credentials: readCredentials({ credentials }, place, env, (what) =>
      problems.push(`UPSTREAM_CREDENTIALS: ${what}`),
    ),
    takesClients: false,
    models: null,
    modelsPath: modelListPathOf(provider),
    pathPrefix: null,
    includeUsage: 'auto',
    trustReportedCost: saysItsCost(address.host),
    pricesOf: pricesOfHost(provider, address.host),
    place: placeOfUpstream(provider, address.host, undefined),
    paths: NO_PATH_RULES,
    objects: 'owned',
    keepAlive: true,
  }
}
