import { azureAi, azureOpenAi } from './clouds/azure.ts'
import { bedrock } from './clouds/bedrock.ts'
import { cloudflare } from './clouds/cloudflare.ts'
import { databricks } from './clouds/databricks.ts'
import { vertex } from './clouds/vertex.ts'
import type { Dialect, Endpoint } from './dialect.ts'
import { fireworks } from './hosts/fireworks.ts'
import { huggingFaceRouter, openrouter, vercelGateway } from './hosts/routers.ts'
import { alibaba } from './makers/alibaba.ts'
import { anthropic } from './makers/anthropic.ts'
import { cohere } from './makers/cohere.ts'
import { gemini } from './makers/gemini.ts'
import { mistral } from './makers/mistral.ts'
import { openAi } from './makers/openai.ts'
import { perplexity } from './makers/perplexity.ts'
import { voyageAi } from './makers/voyageai.ts'
import { xai } from './makers/xai.ts'
import { zai } from './makers/zai.ts'
import { openAiEndpoints } from './openai/openai-endpoints.ts'
import { liteLlmProxy, openAiCompatible } from './own-servers/any-server.ts'
import { llamaCpp } from './own-servers/llamacpp.ts'
import { lmStudio } from './own-servers/lmstudio.ts'
import { mcp } from './own-servers/mcp.ts'
import { ollama } from './own-servers/ollama.ts'
import { tgi } from './own-servers/tgi.ts'
import { vllm } from './own-servers/vllm.ts'
import { cerebras, deepseek, gpuStack, groq, moonshotAi, together } from './plain-entries.ts'
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
  mcp,
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

/** Path and query of a provider's list of models; `null`: it has none. */
export function modelListPathOf(provider: Provider): string | null {
  const { modelListPath = '/v1/models' } = entryOf(provider)
  return modelListPath
}

/** Tells whether a name is one of ours. */
export function isProvider(name: string): name is Provider {
  return Object.hasOwn(REGISTRY, name)
}

/** The metered endpoints of each provider, made at its first call. */
const madeEndpoints = new Map<Provider, readonly Endpoint[]>()

/** The metered endpoints of `provider`, in the order in which a path is matched: its own, then those in OpenAI's formats. */
export function endpointsOf(provider: Provider): readonly Endpoint[] {
  let endpoints = madeEndpoints.get(provider)
  if (endpoints === undefined) {
    const { endpoints: own, openAi } = entryOf(provider)
    endpoints = [...own, ...openAiEndpoints(openAi)]
    madeEndpoints.set(provider, endpoints)
  }
  return endpoints
}

/**
 * The dialect in which `provider` answers a call, by method and path alone, never by what the body looks like; `null`
 * when none is known there (lists of models, files, counting of tokens, paths that no dialect reads). `path` is
 * canonical: decoded, without query and without a slash at its end. Of several endpoints that match, the first counts.
 */
export function selectDialect(provider: Provider, method: string, path: string): Dialect | null {
  const lowerPath = path.toLowerCase()
  for (const candidate of endpointsOf(provider)) {
    if (candidate.method === method && candidate.matches(path, lowerPath)) return candidate.dialect
  }
  return null
}
