import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { OLLAMA_ENDPOINTS } from '../others/ollama.ts'
import { OLLAMA_FREE } from '../paths/free-paths.ts'
import { OLLAMA_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** Ollama. */
export const ollama: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['ollama', 'openai', 'anthropic'],
  ownPaths: ['**/api/tags', '**/api/ps', '**/api/version'],
  openAi: USAGE_IF_ASKED,
  endpoints: OLLAMA_ENDPOINTS,
  freePaths: [OLLAMA_FREE],
  refusedPaths: [OLLAMA_REFUSED],
}
