import type { Dialect } from './dialect.ts'
import type { Endpoint } from './endpoint.ts'
import { openAiEndpoints } from './openai/openai-endpoints.ts'
import { entryOf, type Provider } from './registry.ts'

/** The metered endpoints of each provider, made at its first call. */
const madeEndpoints = new Map<Provider, readonly Endpoint[]>()

/** The metered endpoints of `provider`, in the order in which a path is matched: its own, then those in OpenAI's formats. */
export function endpointsOf(provider: Provider): readonly Endpoint[] {
  let endpoints = madeEndpoints.get(provider)
  if (endpoints === undefined) {
    const { endpoints: own, openAi } = entryOf(provider)
    endpoints = [...own, ...openAiEndpoints(openAi)]
    madeEndpoints.set(provider, endpoints)
  }
  return endpoints
}

/**
 * The dialect in which `provider` answers a call, by method and path alone, never by what the body looks like; `null`
 * when none is known there (lists of models, files, counting of tokens, paths that no dialect reads). `path` is
 * canonical: decoded, without query and without a slash at its end. Of several endpoints that match, the first counts.
 */
export function selectDialect(provider: Provider, method: string, path: string): Dialect | null {
  const lowerPath = path.toLowerCase()
  for (const candidate of endpointsOf(provider)) {
    if (candidate.method === method && candidate.matches(path, lowerPath)) return candidate.dialect
  }
  return null
}
