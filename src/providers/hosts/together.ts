import { listedAs } from '../catalog-lists.ts'
import { USAGE_UNASKED } from '../openai/openai-overrides.ts'
import { KEYS_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Together AI. */
export const together: HostedProvider = {
  hosts: ['api.together.xyz', 'api.together.ai'],
  credential: BEARER,
  catalog: listedAs('together'),
  isBelowV1: true,
  openAi: USAGE_UNASKED,
  endpoints: [],
  refusedPaths: [KEYS_REFUSED],
}
