import { azureAi } from './clouds/azure-ai.ts'
import { azureOpenAi } from './clouds/azure-openai.ts'
import { bedrock } from './clouds/bedrock.ts'
import { cloudflare } from './clouds/cloudflare.ts'
import { databricks } from './clouds/databricks.ts'
import { vertex } from './clouds/vertex.ts'
import { cerebras } from './hosts/cerebras.ts'
import { fireworks } from './hosts/fireworks.ts'
import { groq } from './hosts/groq.ts'
import { huggingFaceRouter } from './hosts/huggingface-router.ts'
import { openrouter } from './hosts/openrouter.ts'
import { together } from './hosts/together.ts'
import { vercelGateway } from './hosts/vercel-gateway.ts'
import { alibaba } from './makers/alibaba.ts'
import { anthropic } from './makers/anthropic.ts'
import { cohere } from './makers/cohere.ts'
import { deepseek } from './makers/deepseek.ts'
import { gemini } from './makers/gemini.ts'
import { mistral } from './makers/mistral.ts'
import { moonshotAi } from './makers/moonshotai.ts'
import { openAi } from './makers/openai.ts'
import { perplexity } from './makers/perplexity.ts'
import { voyageAi } from './makers/voyageai.ts'
import { xai } from './makers/xai.ts'
import { zai } from './makers/zai.ts'
import { gpuStack } from './own-servers/gpustack.ts'
import { liteLlmProxy } from './own-servers/litellm-proxy.ts'
import { llamaCpp } from './own-servers/llamacpp.ts'
import { lmStudio } from './own-servers/lmstudio.ts'
import { ollama } from './own-servers/ollama.ts'
import { openAiCompatible } from './own-servers/openai-compatible.ts'
import { tgi } from './own-servers/tgi.ts'
import { vllm } from './own-servers/vllm.ts'
import type { ProviderEntry } from './provider.ts'

/**
 * THE list of providers that an upstream may have, by the name that the configuration gives them. Every table over
 * providers is derived from it. The order is that in which price lists are read and tried.
 */
const REGISTRY = {
  openai: openAi,
  'azure-openai': azureOpenAi,
  'azure-ai': azureAi,
  anthropic,
  gemini,
  vertex,
  bedrock,
  openrouter,
  mistral,
  groq,
  deepseek,
  xai,
  cohere,
  perplexity,
  together,
  fireworks,
  cerebras,
  databricks,
  'vercel-gateway': vercelGateway,
  cloudflare,
  alibaba,
  moonshotai: moonshotAi,
  zai,
  voyageai: voyageAi,
  'huggingface-router': huggingFaceRouter,
  ollama,
  vllm,
  llamacpp: llamaCpp,
  tgi,
  lmstudio: lmStudio,
  'litellm-proxy': liteLlmProxy,
  gpustack: gpuStack,
  'openai-compatible': openAiCompatible,
} as const satisfies Readonly<Record<string, ProviderEntry>>

/** Name of a provider; the configuration's `provider`. */
export type Provider = keyof typeof REGISTRY

/** The names of all providers. */
export const PROVIDERS = Object.keys(REGISTRY) as readonly Provider[]

/** All that is known of one provider. */
export function entryOf(provider: Provider): ProviderEntry {
  return REGISTRY[provider]
}

/** The same by a name that may be none of ours; `null` then. */
export function findEntry(name: string): ProviderEntry | null {
  return isProvider(name) ? REGISTRY[name] : null
}

/** Path and query of a provider's list of models. */
export function modelListPathOf(provider: Provider): string {
  return entryOf(provider).modelListPath ?? '/v1/models'
}

function isProvider(name: string): name is Provider {
  return Object.hasOwn(REGISTRY, name)
}
