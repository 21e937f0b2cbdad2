import type { Provider } from '../../src/providers/registry.ts'
import { type Skipped, skip } from './listing.ts'

/** A model as a client names it to one of our providers. */
export interface Place {
  readonly provider: Provider
  readonly model: string
}

/** LiteLLM's names of providers, ours, and what stands before a model's name. All others are hosts we do not know. */
const PROVIDERS: Readonly<Record<string, readonly [Provider, prefix: string]>> = {
  openai: ['openai', 'openai/'],
  'text-completion-openai': ['openai', ''],
  azure: ['azure-openai', 'azure/'],
  azure_text: ['azure-openai', 'azure/'],
  azure_ai: ['azure-ai', 'azure_ai/'],
  anthropic: ['anthropic', ''],
  bedrock: ['bedrock', 'bedrock/'],
  bedrock_converse: ['bedrock', ''],
  bedrock_mantle: ['bedrock', 'bedrock_mantle/'],
  gemini: ['gemini', 'gemini/'],
  xai: ['xai', 'xai/'],
  openrouter: ['openrouter', 'openrouter/'],
  mistral: ['mistral', 'mistral/'],
  groq: ['groq', 'groq/'],
  deepseek: ['deepseek', 'deepseek/'],
  cohere: ['cohere', 'cohere/'],
  cohere_chat: ['cohere', ''],
  perplexity: ['perplexity', 'perplexity/'],
  together_ai: ['together', 'together_ai/'],
  fireworks_ai: ['fireworks', 'fireworks_ai/'],
  'fireworks_ai-embedding-models': ['fireworks', 'fireworks_ai/'],
  cerebras: ['cerebras', 'cerebras/'],
  databricks: ['databricks', 'databricks/'],
  vercel_ai_gateway: ['vercel-gateway', 'vercel_ai_gateway/'],
  cloudflare: ['cloudflare', 'cloudflare/'],
  dashscope: ['alibaba', 'dashscope/'],
  moonshot: ['moonshotai', 'moonshot/'],
  zai: ['zai', 'zai/'],
  voyage: ['voyageai', 'voyage/'],
}

/** Families on Vertex have names of their own (`vertex_ai-anthropic_models`). */
const VERTEX: readonly [Provider, string] = ['vertex', 'vertex_ai/']

/** Why a model is left out whose host is no provider of ours. */
export const HOST_UNKNOWN = 'a host that we have no prices of'

/** Names that LiteLLM made, by provider, which no client sends; the first that fits. */
const NOT_SENT: readonly (readonly [providers: string, names: RegExp, why: string])[] = [
  ['openai xai azure-openai', /-x-/, 'the price of a size of picture, not a model'],
  ['openai azure-openai', /high-res$/, 'a size of picture, not a model'],
  ['azure-openai azure-ai', /\//, 'regions and kinds of deployment are not said in a request'],
  ['bedrock', /commitment/, 'committed throughput'],
  ['bedrock', /^claude_platform\//, "Anthropic's own interface, sold by AWS"],
  ['bedrock', /^[a-z]{2}(?:-gov)?-[a-z]+-[0-9]\/|-x-/, 'regions are said by the host, not by the name'],
  ['together', /^together-ai-/, 'sizes of models, not models'],
  ['fireworks', /^fireworks-ai-/, 'sizes of models, not models'],
  ['fireworks', /^[^/]+$/, 'short for accounts/fireworks/models/…, which is listed too'],
  ['cloudflare', /^(?!@)/, 'short for @cf/…, which is listed too'],
  ['perplexity', /^preset\//, 'a preset of an agent: models and fees as it likes'],
]

/** Where and by what name a client asks for what LiteLLM lists under `key`; `null`: none can. */
export function placeInLiteLlm(key: string, litellmProvider: string, skipped: Skipped): Place | null {
  const [provider, prefix] =
    PROVIDERS[litellmProvider] ?? (litellmProvider.startsWith('vertex_ai') ? VERTEX : [null, ''])
  if (provider === null) return skip(skipped, HOST_UNKNOWN, key)
  const bare = key.startsWith(prefix) ? key.slice(prefix.length) : key
  for (const [providers, names, why] of NOT_SENT) {
    if (providers.split(' ').includes(provider) && names.test(bare)) return skip(skipped, why, key)
  }
  // Fine-tuned models carry their owner and an id.
  return { provider, model: bare.startsWith('ft:') ? `${bare}:acme::B7x2Qk9c` : bare }
}
