import type { PathRules } from '../../domain/path-rules.ts'
import type { UpstreamPlace } from '../../pricing/places/upstream-places.ts'
import { entryOf, PROVIDERS, type Provider } from '../../providers/registry.ts'

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
