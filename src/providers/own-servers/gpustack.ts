import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { KEYS_REFUSED, VLLM_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** GPUStack. */
export const gpuStack: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [],
  refusedPaths: [KEYS_REFUSED, VLLM_REFUSED],
}
