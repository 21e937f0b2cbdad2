/** The place in our lists of a model of LiteLLM's, and under which names calls ask for it. */
export interface LiteLlmPlace {
  /** The catalog's provider. */
  readonly providerId: string
  readonly id: string
  /** At least one. */
  readonly names: readonly string[]
}

interface Naming {
  readonly providerId: string
  /** The prefixes that LiteLLM puts before the provider's own name; the first that fits is taken off. */
  readonly prefixes: readonly string[]
  /** Names there have slashes of their own; elsewhere what has one is a size, a region or a commitment. */
  readonly hasSlashes?: true
}

/** LiteLLM's providers whose hosts we know. A name of theirs that begins so is one as well (`vertex_ai-llama_models`). */
const NAMINGS: Readonly<Record<string, Naming>> = {
  openai: { providerId: 'openai', prefixes: ['openai/'] },
  'text-completion-openai': { providerId: 'openai', prefixes: [] },
  anthropic: { providerId: 'anthropic', prefixes: ['anthropic/'] },
  azure: { providerId: 'azure', prefixes: ['azure/'] },
  azure_ai: { providerId: 'azure-ai', prefixes: ['azure_ai/'] },
  gemini: { providerId: 'google', prefixes: ['gemini/'] },
  vertex_ai: { providerId: 'google-vertex', prefixes: ['vertex_ai/'], hasSlashes: true },
  bedrock: { providerId: 'aws', prefixes: [] },
  bedrock_converse: { providerId: 'aws', prefixes: [] },
  bedrock_mantle: { providerId: 'aws', prefixes: ['bedrock_mantle/'] },
  xai: { providerId: 'x-ai', prefixes: ['xai/'] },
  mistral: { providerId: 'mistral', prefixes: ['mistral/'] },
  groq: { providerId: 'groq', prefixes: ['groq/'], hasSlashes: true },
  deepseek: { providerId: 'deepseek', prefixes: ['deepseek/'] },
  cohere: { providerId: 'cohere', prefixes: ['cohere/'] },
  cohere_chat: { providerId: 'cohere', prefixes: ['cohere_chat/', 'cohere/'] },
  perplexity: { providerId: 'perplexity', prefixes: ['perplexity/'], hasSlashes: true },
  together_ai: { providerId: 'together', prefixes: ['together_ai/'], hasSlashes: true },
  fireworks_ai: { providerId: 'fireworks', prefixes: ['fireworks_ai/'], hasSlashes: true },
  'fireworks_ai-embedding-models': {
    providerId: 'fireworks',
    prefixes: ['fireworks_ai/'],
    hasSlashes: true,
  },
  cerebras: { providerId: 'cerebras', prefixes: ['cerebras/'] },
  zai: { providerId: 'zai', prefixes: ['zai/'] },
  moonshot: { providerId: 'moonshotai', prefixes: ['moonshot/'] },
  voyage: { providerId: 'voyageai', prefixes: ['voyage/'] },
  vercel_ai_gateway: { providerId: 'vercel', prefixes: ['vercel_ai_gateway/'], hasSlashes: true },
  cloudflare: { providerId: 'cloudflare', prefixes: ['cloudflare/'], hasSlashes: true },
  openrouter: { providerId: 'openrouter', prefixes: ['openrouter/'], hasSlashes: true },
  databricks: { providerId: 'databricks', prefixes: ['databricks/'] },
  dashscope: { providerId: 'alibaba', prefixes: ['dashscope/'] },
}

const FIREWORKS = 'accounts/fireworks/models/'

/** `null`: an unknown host, or not a model's name but a size of picture, a region, a class of models. */
export function placeOfLiteLlm(key: string, provider: string): LiteLlmPlace | null {
  const named = Object.hasOwn(NAMINGS, provider) ? NAMINGS[provider] : undefined
  const naming = named ?? (provider.startsWith('vertex_ai-') ? NAMINGS.vertex_ai : undefined)
  if (naming === undefined) return null
  const { providerId, prefixes, hasSlashes = false } = naming
  const prefix = prefixes.find((candidate) => key.startsWith(candidate)) ?? ''
  const name = key.slice(prefix.length)
  if (name === '' || (name.includes('/') && !hasSlashes) || name.includes('*')) return null
  // Prices by size of model: `together-ai-4.1b-8b`, `fireworks-ai-up-to-4b`.
  if (/^(?:together|fireworks)-ai-/.test(name)) return null
  if (providerId === 'fireworks') {
    const id = name.startsWith(FIREWORKS) ? name.slice(FIREWORKS.length) : name
    return { providerId, id, names: id.includes('/') ? [id] : [id, `${FIREWORKS}${id}`] }
  }
  // `meta/llama-...` at the endpoint that speaks as OpenAI does, bare in a resource's name.
  if (providerId === 'google-vertex' && name.includes('/')) {
    return { providerId, id: name, names: [name, name.slice(name.lastIndexOf('/') + 1)] }
  }
  return { providerId, id: name, names: [name] }
}
