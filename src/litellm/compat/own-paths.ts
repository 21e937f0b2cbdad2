/**
 * The paths of LiteLLM's that are answered here, in place of an upstream: THE list, of which the router, the refusal of
 * sessions and the tests derive. LiteLLM has `/model/info` below `/v1`, too, and base URLs end in it: all may.
 */
export const LITELLM_PATHS = [
  '/key/info',
  '/user/info',
  '/v2/user/info',
  '/spend/logs',
  '/model/info',
  '/model_group/info',
] as const

export type LiteLlmPath = (typeof LITELLM_PATHS)[number]

/** The same of those that need no key: balancers ask them. */
export const LITELLM_HEALTH_PATHS = ['/health/liveliness', '/health/liveness', '/health/readiness'] as const

const PATHS: ReadonlySet<string> = new Set([...LITELLM_PATHS, ...LITELLM_HEALTH_PATHS])
const VERSIONS = /^(?:\/v1)+(?=\/)/

/** The path as the lists have it; `null`: it is none of them. @param canonical see `canonicalPath`. */
export function findLiteLlmPath(canonical: string): string | null {
  const path = canonical.toLowerCase().replace(VERSIONS, '')
  return PATHS.has(path) ? path : null
}
