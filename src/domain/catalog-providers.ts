/** A place in the catalog to look a model up: the catalog's provider, and the name to look for there. */
export interface CatalogPlace {
  readonly providerId: string
  readonly name: string
}

type FindPlaces = (model: string) => readonly CatalogPlace[]

/** Makers of models, in the order in which a name is tried, with the prefixes that name them. */
const MAKERS: readonly { readonly providerId: string; readonly prefixes: readonly string[] }[] = [
  { providerId: 'openai', prefixes: ['openai'] },
  { providerId: 'anthropic', prefixes: ['anthropic'] },
  { providerId: 'google', prefixes: ['google', 'google-ai-studio', 'google-vertex-ai', 'gemini'] },
  { providerId: 'mistral', prefixes: ['mistral', 'mistralai'] },
  { providerId: 'deepseek', prefixes: ['deepseek', 'deepseek-ai'] },
  { providerId: 'x-ai', prefixes: ['x-ai', 'xai', 'grok'] },
  { providerId: 'cohere', prefixes: ['cohere'] },
]

/** The one provider, the name as it is. */
function only(providerId: string): FindPlaces {
  return (name) => [{ providerId, name }]
}

/** Prices that only the operator knows. */
const none: FindPlaces = () => []

/**
 * The model's maker: the one its prefix names, else each in turn. A prefix that names no maker is somebody else's
 * model, whatever it is called.
 */
const maker: FindPlaces = (model) => {
  const slash = model.indexOf('/')
  if (slash < 0) return MAKERS.map(({ providerId }) => ({ providerId, name: model }))
  const prefix = model.slice(0, slash).toLowerCase()
  const found = MAKERS.find(({ prefixes }) => prefixes.includes(prefix))
  return found === undefined ? [] : [{ providerId: found.providerId, name: model.slice(slash + 1) }]
}

/** Cloudflare's own models carry `@cf/`; the others that it passes on are their makers'. */
const cloudflare: FindPlaces = (model) => {
  const name = model.startsWith('workers-ai/') ? model.slice('workers-ai/'.length) : model
  return name.startsWith('@cf/') ? [{ providerId: 'cloudflare', name }] : maker(name)
}

/** `models/gemini-...`, as Gemini's own list names them. */
const gemini: FindPlaces = (model) => [{ providerId: 'google', name: afterLast(model, 'models/') }]

/** Full resource names, and `google/...` at its OpenAI-compatible endpoint. */
const vertex: FindPlaces = (model) => {
  const name = afterLast(model, 'models/')
  const slash = name.indexOf('/')
  const bare =
    slash >= 0 && ['google', 'anthropic'].includes(name.slice(0, slash)) ? name.slice(slash + 1) : name
  return [{ providerId: 'google', name: bare }]
}

/** Model ids and inference profiles, also as ARNs, percent-encoded where they come from a path. */
const bedrock: FindPlaces = (model) => {
  const name = decoded(model)
  return [{ providerId: 'aws', name: name.startsWith('arn:') ? afterLast(name, '/') : name }]
}

/** The router's provider is the suffix the client chose (`org/model:together`); without one it is not known. */
const huggingFace: FindPlaces = (model) => {
  const colon = model.lastIndexOf(':')
  if (colon < 0) return []
  return [{ providerId: `huggingface_${model.slice(colon + 1)}`, name: model.slice(0, colon) }]
}

/** Our providers, and where the catalog has their prices. By configuration, never by the look of a name. */
const PLACES: Readonly<Record<string, FindPlaces>> = {
  openai: only('openai'),
  'azure-openai': only('azure'),
  'azure-ai': only('azure'),
  anthropic: only('anthropic'),
  gemini,
  vertex,
  bedrock,
  xai: only('x-ai'),
  openrouter: only('openrouter'),
  mistral: only('mistral'),
  groq: only('groq'),
  deepseek: only('deepseek'),
  cohere: only('cohere'),
  perplexity: only('perplexity'),
  together: only('together'),
  fireworks: only('fireworks'),
  cerebras: only('cerebras'),
  databricks: none,
  'vercel-gateway': maker,
  cloudflare,
  'huggingface-router': huggingFace,
  alibaba: none,
  moonshotai: only('moonshotai'),
  zai: only('zai'),
  voyageai: only('voyageai'),
  ollama: none,
  vllm: none,
  llamacpp: none,
  tgi: none,
  lmstudio: none,
  'litellm-proxy': maker,
  gpustack: none,
  'openai-compatible': maker,
}

/** The providers an upstream can have, as far as prices go. */
export const PRICED_PROVIDERS: readonly string[] = Object.keys(PLACES)

/** Where the catalog may have the price of `model` at `provider` (one of ours), in the order to look. */
export function catalogPlaces(provider: string, model: string): readonly CatalogPlace[] {
  return PLACES[provider]?.(model) ?? []
}

/** The catalog's providers that {@link catalogPlaces} can name, or that those fall back to. */
export const CATALOG_PROVIDER_IDS: readonly string[] = [
  ...MAKERS.map(({ providerId }) => providerId),
  'azure',
  'aws',
  'openrouter',
  'groq',
  'perplexity',
  'together',
  'fireworks',
  'cerebras',
  'cloudflare',
  'moonshotai',
  'zai',
  'voyageai',
  'huggingface_cerebras',
  'huggingface_fireworks-ai',
  'huggingface_groq',
  'huggingface_hyperbolic',
  'huggingface_nebius',
  'huggingface_novita',
  'huggingface_nscale',
  'huggingface_ovhcloud',
  'huggingface_publicai',
  'huggingface_sambanova',
  'huggingface_together',
]

function afterLast(text: string, mark: string): string {
  const at = text.lastIndexOf(mark)
  return at < 0 ? text : text.slice(at + mark.length)
}

function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
