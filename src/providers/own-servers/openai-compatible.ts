import { BEHIND_GATEWAYS } from '../behind-gateways.ts'
import { endpoint, postTo } from '../endpoint.ts'
import { elevenLabsSpeech } from '../media/speech.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import { VIDEO_ENDPOINTS } from '../openai/openai-endpoints.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { OLLAMA_ENDPOINTS } from '../others/ollama.ts'
import { ANTHROPIC_ADDRESSES } from '../own-addresses.ts'
import { ANTHROPIC_BATCHES_FREE, GOOGLE_FREE, OLLAMA_FREE, OPENAI_FREE } from '../paths/free-paths.ts'
import { KEYS_REFUSED, MODEL_SERVERS_REFUSED, ORGANIZATION_REFUSED } from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'

/** Anything else that speaks OpenAI's formats, or by its paths Anthropic's, Gemini's, Ollama's or Cohere's. */
export const openAiCompatible: OwnServer = {
  hosts: [],
  isAnyServer: true,
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic', 'google', 'bedrock', 'ollama', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [
    // Writer's chat.
    postTo('/v1/chat', openAiChat(USAGE_IF_ASKED)),
    endpoint('POST', /\/v1\/text-to-speech\/[^/]+(?:\/stream)?(?:\/with-timestamps)?$/, elevenLabsSpeech),
    ...VIDEO_ENDPOINTS,
    ...BEHIND_GATEWAYS,
    ...OLLAMA_ENDPOINTS,
  ],
  ownAddresses: ANTHROPIC_ADDRESSES,
  freePaths: [...GOOGLE_FREE, ...OPENAI_FREE, ANTHROPIC_BATCHES_FREE, OLLAMA_FREE],
  refusedPaths: [ORGANIZATION_REFUSED, KEYS_REFUSED, MODEL_SERVERS_REFUSED],
}
