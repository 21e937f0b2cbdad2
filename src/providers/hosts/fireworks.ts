import { listedAs } from '../catalog-lists.ts'
import { endpoint } from '../endpoint.ts'
import { fireworksWorkflows } from '../jobs/fireworks-workflows.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { ADMIN, KEYS_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type HostedProvider } from '../provider.ts'

/** Fireworks AI. Some models always report usage, others only when asked (vercel/ai pull request 16087). */
export const fireworks: HostedProvider = {
  hosts: ['api.fireworks.ai'],
  credential: BEARER,
  catalog: listedAs('fireworks'),
  apis: ['openai', 'anthropic'],
  isBelowV1: true,
  openAi: USAGE_IF_ASKED,
  endpoints: [
    endpoint('POST', /\/workflows\/accounts\/[^/]+\/models\/[^/]+(?:\/text_to_image)?$/, fireworksWorkflows),
  ],
  refusedPaths: [KEYS_REFUSED, { patterns: ['* **/apiKeys', '* **/apiKeys/**'], why: ADMIN }],
}
