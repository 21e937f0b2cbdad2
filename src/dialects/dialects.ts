import type { Dialect, Provider } from './dialect.ts'
import { openAiChat, openAiCompletions } from './openai-chat.ts'
import { OPENAI_QUIRKS } from './openai-quirks.ts'

/** One metered endpoint of a provider. */
export interface Endpoint {
  readonly method: string
  /** Whether the endpoint is meant by a path without query and without a slash at its end. */
  readonly matches: (path: string) => boolean
  readonly dialect: Dialect
}

/** A POST endpoint known by the end of its path, whatever prefix a provider puts before it. */
export function postTo(end: string, dialect: Dialect): Endpoint {
  return { method: 'POST', matches: (path) => path.endsWith(end), dialect }
}

/** OpenAI-style endpoints as `provider` has them. The first that matches is meant. */
function openAiEndpoints(provider: Provider): readonly Endpoint[] {
  const quirks = OPENAI_QUIRKS[provider]
  return [postTo('/chat/completions', openAiChat(quirks)), postTo('/completions', openAiCompletions(quirks))]
}

/** The metered endpoints of each provider, made at its first call. */
const endpointsOf = new Map<Provider, readonly Endpoint[]>()

/**
 * The dialect in which `provider` answers a call, by method and path alone; `null` when nothing is metered there
 * (lists of models, files, counting of tokens). `path` is without query.
 */
export function selectDialect(provider: Provider, method: string, path: string): Dialect | null {
  let endpoints = endpointsOf.get(provider)
  if (endpoints === undefined) {
    endpoints = openAiEndpoints(provider)
    endpointsOf.set(provider, endpoints)
  }
  const plain = path.endsWith('/') ? path.slice(0, -1) : path
  for (const endpoint of endpoints) {
    if (endpoint.method === method && endpoint.matches(plain)) return endpoint.dialect
  }
  return null
}
