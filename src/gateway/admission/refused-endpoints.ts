import { REFUSED_PATHS } from '../../providers/paths/known-paths.ts'
import type { Provider } from '../../providers/registry.ts'

/** Why a call on a canonical path is refused unless the operator allows it; `null`: it may pass. */
export function refusedEndpoint(
  provider: Provider,
  method: string,
  path: string,
): { readonly reason: string } | null {
  const group = REFUSED_PATHS.find(provider, method, path)
  return group === null ? null : { reason: group.why }
}
