import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { COHERE_V2_ENDPOINTS } from '../others/cohere.ts'
import { VLLM_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** vLLM. */
export const vllm: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: COHERE_V2_ENDPOINTS,
  freePaths: [{ patterns: ['POST /ping', 'POST /health'], why: 'tells whether the server is up' }],
  refusedPaths: [VLLM_REFUSED],
}
