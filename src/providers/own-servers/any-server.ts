import { BEDROCK_ENDPOINTS } from '../clouds/bedrock.ts'
import { type Endpoint, endpoint, postTo } from '../dialect.ts'
import { GEMINI_ENDPOINTS, VERTEX_PARTNER_ENDPOINTS } from '../google/google-endpoints.ts'
import { COHERE_V2_ENDPOINTS } from '../makers/cohere.ts'
import { elevenLabsSpeech } from '../media/sound.ts'
import { openAiChat } from '../openai/openai-chat.ts'
import { VIDEO_ENDPOINTS } from '../openai/openai-endpoints.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { ANTHROPIC_ADDRESSES } from '../own-addresses.ts'
import {
  ANTHROPIC_BATCHES_FREE,
  COUNTS_TOKENS,
  GOOGLE_FREE,
  OLLAMA_FREE,
  OPENAI_FREE,
} from '../paths/free-paths.ts'
import {
  ADMIN,
  KEYS_REFUSED,
  MODEL_SERVERS_REFUSED,
  ORGANIZATION_REFUSED,
  SPEECH_REFUSED,
} from '../paths/refused-paths.ts'
import { BEARER, type OwnServer } from '../provider.ts'
import { OLLAMA_ENDPOINTS } from './ollama.ts'
import { VLLM_ENDPOINTS } from './vllm.ts'

/** Gateways before several providers keep those providers' paths. */
export const BEHIND_GATEWAYS: readonly Endpoint[] = [
  ...GEMINI_ENDPOINTS,
  ...VERTEX_PARTNER_ENDPOINTS,
  ...BEDROCK_ENDPOINTS,
  ...COHERE_V2_ENDPOINTS,
  ...VLLM_ENDPOINTS,
]

/** LiteLLM's proxy, which keeps the paths of the providers behind it. */
export const liteLlmProxy: OwnServer = {
  hosts: [],
  isAnyServer: true,
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic', 'google', 'bedrock', 'ollama', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: [...VIDEO_ENDPOINTS, ...BEHIND_GATEWAYS],
  ownAddresses: ANTHROPIC_ADDRESSES,
  freePaths: [
    { patterns: ['POST /utils/token_counter'], why: COUNTS_TOKENS },
    ...GOOGLE_FREE,
    ...OPENAI_FREE,
    ANTHROPIC_BATCHES_FREE,
  ],
  refusedPaths: [
    ORGANIZATION_REFUSED,
    {
      patterns: [
        '* **/key/**',
        '* **/user/**',
        '* **/team/**',
        '* **/organization/**',
        '* **/customer/**',
        '* **/end_user/**',
        '* **/project/**',
        '* **/budget/**',
        '* **/tag/**',
        '* **/access_group/**',
        '* **/invitation/**',
        '* **/config/**',
        '* **/spend/**',
        '* **/global/**',
        '* **/credentials',
        '* **/credentials/**',
        '* **/model/new',
        '* **/model/delete',
        '* **/model/update',
        '* **/model/*/update',
        '* **/model_group/make_public',
        '* **/reload/model_cost_map',
        '* **/cache/flushall',
        '* **/cache/delete',
        '* **/cache/settings',
        'POST **/guardrails',
        'PUT,PATCH,DELETE **/guardrails/*',
        'POST,PUT,DELETE **/v1/mcp/server',
        '* **/scim/**',
        '* **/sso/**',
        '* **/audit',
        '* **/audit/**',
        '* /fallback',
        '* /fallback/**',
        '* /router/settings',
        '* /policies',
        '* /policies/**',
        '* /policy/**',
        '* /prompts',
        '* /prompts/**',
        'POST /guardrails/register',
        '* /guardrails/submissions',
        '* /guardrails/submissions/**',
        '* /guardrails/usage/**',
        '* /management/**',
        '* /jwt/**',
        '* **/unified_access_group',
        '* **/unified_access_group/**',
        '* /config_overrides/**',
        '* /cloudzero/**',
        '* /vantage/**',
        '* /reload/anthropic_beta_headers',
        '* /schedule/*_reload',
        '* /add/allowed_ip',
        '* /delete/allowed_ip',
        '* /get/*_settings',
        '* /get/config/callbacks',
        '* /update/*_settings',
        '* /callbacks/**',
        '* /active/callbacks',
        '* /alerting/settings',
        '* /debug/**',
        '* /otel-spans',
        '* /coordination_redis/**',
        '* /auto_router/**',
        '* **/model/block',
        '* **/model/unblock',
        '* /model_hub/update_useful_links',
        '* /vector_store/**',
        '* /search_tools',
        '* /search_tools/**',
        '* **/tool/policy',
        '* **/mcp/make_public',
        'POST,PUT,DELETE **/v1/mcp/server/**',
        '* **/mcp/toolset',
        '* **/mcp/toolset/**',
        '* /claude-code/plugins',
        '* /claude-code/plugins/**',
        '* /onboarding/**',
        // Runs each model of the operator's, at no client's cost.
        '* **/health',
        '* /health/test_connection',
        '* /health/services',
        '* /health/history',
        '* /health/latest',
        '* /health/shared-status',
        '* /health/drain',
        '* /settings',
      ],
      why: ADMIN,
    },
  ],
}

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
  refusedPaths: [ORGANIZATION_REFUSED, KEYS_REFUSED, MODEL_SERVERS_REFUSED, SPEECH_REFUSED],
  // Replicate's.
  collections: {
    predictions: 'prediction',
  },
}
