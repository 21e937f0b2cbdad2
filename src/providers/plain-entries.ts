import { listedAs, madeAndListedAs } from './catalog-lists.ts'
import { USAGE_IF_ASKED, USAGE_UNASKED } from './openai/openai-overrides.ts'
import { VLLM_ENDPOINTS } from './own-servers/vllm.ts'
import { BEGINS_WORK } from './paths/free-paths.ts'
import { KEYS_REFUSED, VLLM_REFUSED } from './paths/refused-paths.ts'
import { BEARER, type HostedProvider, type OwnServer } from './provider.ts'

// Providers that speak OpenAI's formats, or those of others, and of which nothing but an entry is to be said.

export const cerebras: HostedProvider = {
  hosts: ['api.cerebras.ai'],
  credential: BEARER,
  catalog: listedAs('cerebras'),
  isBelowV1: true,
  openAi: USAGE_IF_ASKED,
  endpoints: [],
}

/** Groq. Usage stands in `x_groq` of a stream's last chunk, always (console.groq.com/docs/api-reference). */
export const groq: HostedProvider = {
  hosts: ['api.groq.com'],
  dropsWordsBeforeCalls: /llama/,
  credential: BEARER,
  catalog: listedAs('groq'),
  isBelowV1: true,
  isBelowOpenAi: true,
  openAi: { takesIncludeUsage: false, isCompound: true },
  endpoints: [],
}

export const together: HostedProvider = {
  hosts: ['api.together.xyz', 'api.together.ai'],
  credential: BEARER,
  catalog: listedAs('together'),
  isBelowV1: true,
  openAi: USAGE_UNASKED,
  endpoints: [],
  freePaths: [
    {
      patterns: ['POST **/v1/batches'],
      why: BEGINS_WORK,
      reportedBy: 'GET of the file that the batch leaves',
    },
  ],
  refusedPaths: [KEYS_REFUSED],
}

/** DeepSeek itself. */
export const deepseek: HostedProvider = {
  hosts: ['api.deepseek.com'],
  credential: BEARER,
  catalog: madeAndListedAs('deepseek', ['deepseek', 'deepseek-ai']),
  apis: ['openai', 'anthropic'],
  openAi: USAGE_UNASKED,
  endpoints: [],
}

/** Moonshot AI itself. Unasked, usage stands inside the last choice (earendil-works/pi issue 2017). */
export const moonshotAi: HostedProvider = {
  hosts: ['api.moonshot.ai', 'api.moonshot.cn'],
  credential: BEARER,
  catalog: listedAs('moonshotai'),
  apis: ['openai', 'anthropic'],
  isBelowV1: true,
  openAi: { takesIncludeUsage: true, usageInChoices: true },
  endpoints: [],
}

/** GPUStack. */
export const gpuStack: OwnServer = {
  hosts: [],
  credential: BEARER,
  catalog: null,
  apis: ['openai', 'anthropic', 'cohere'],
  openAi: USAGE_IF_ASKED,
  endpoints: VLLM_ENDPOINTS,
  refusedPaths: [KEYS_REFUSED, VLLM_REFUSED],
}
