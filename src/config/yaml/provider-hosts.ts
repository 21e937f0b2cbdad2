import { entryOf, PROVIDERS, type Provider } from '../../providers/registry.ts'

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
