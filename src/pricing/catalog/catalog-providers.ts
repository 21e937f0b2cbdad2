/** A place in the catalog to look a model up: the catalog's provider, and the name to look for there. */
export interface CatalogPlace {
  readonly providerId: string
  readonly name: string
  /**
   * Lists of the host alone, for sources that tell it apart from what the first source has in one list: where a source
   * has any of them, they stand in place of `providerId`'s.
   */
  readonly lists?: readonly string[]
  /** Where to look next: whose models it sells at their prices. Left out: what the first source says of that. */
  readonly makers?: readonly CatalogPlace[]
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

/** The model's maker, where its prefix names one: whose list the model is in is never guessed from its name. */
const namedMaker: FindPlaces = (model) => {
  const slash = model.indexOf('/')
  const prefix = model.slice(0, Math.max(0, slash)).toLowerCase()
  const found = MAKERS.find(({ prefixes }) => prefixes.includes(prefix))
  return found === undefined ? [] : [{ providerId: found.providerId, name: model.slice(slash + 1) }]
}

/** What `prices_of: makers` says: the maker that a prefix names, and a name without one in each maker's list in turn. */
const maker: FindPlaces = (model) =>
  model.includes('/') ? namedMaker(model) : MAKERS.map(({ providerId }) => ({ providerId, name: model }))

/** Makers whose models at Vercel come from themselves alone; those of open weights come from whoever hosts them. */
const VERCEL_MAKERS: ReadonlySet<string> = new Set([
  'openai',
  'anthropic',
  'google',
  'mistral',
  'x-ai',
  'cohere',
])

/**
 * Its own list, else the maker's: "at provider list price, no markup", https://vercel.com/docs/ai-gateway/pricing.
 * Names there always have a prefix.
 */
const vercel: FindPlaces = (model) => [
  {
    providerId: 'vercel',
    name: model,
    makers: namedMaker(model).filter(
      ({ providerId, name }) => VERCEL_MAKERS.has(providerId) && !name.toLowerCase().startsWith('gpt-oss'),
    ),
  },
]

/** Cloudflare's own models carry `@cf/`; the others it passes on to their makers, with the operator's keys. */
const cloudflare: FindPlaces = (model) => {
  const name = model.startsWith('workers-ai/') ? model.slice('workers-ai/'.length) : model
  return name.startsWith('@cf/') ? [{ providerId: 'cloudflare', name }] : namedMaker(name)
}

/** `models/gemini-...`, as Gemini's own list names them. */
const gemini: FindPlaces = (model) => [{ providerId: 'google', name: afterLast(model, 'models/') }]

/** Full resource names, and `google/...` at its OpenAI-compatible endpoint. */
const vertex: FindPlaces = (model) => {
  const name = afterLast(model, 'models/')
  const slash = name.indexOf('/')
  const bare =
    slash >= 0 && ['google', 'anthropic'].includes(name.slice(0, slash)) ? name.slice(slash + 1) : name
  return [{ providerId: 'google', name: bare, lists: ['google-vertex'] }]
}

/** Model ids and inference profiles, also as ARNs, percent-encoded where they come from a path. */
const bedrock: FindPlaces = (model) => {
  const name = decoded(model)
  return [{ providerId: 'aws', name: name.startsWith('arn:') ? afterLast(name, '/') : name }]
}

/**
 * Whose prices hold at a host of Bedrock's outside of the United States: only names that say their region have any, as
 * the price of a bare one is that of the United States.
 */
export const BEDROCK_ELSEWHERE = 'bedrock-elsewhere'

const REGION_BEFORE = /^[a-z]{2,6}(?:-gov)?\.[a-z0-9-]+\./

const bedrockElsewhere: FindPlaces = (model) => bedrock(model).filter(({ name }) => REGION_BEFORE.test(name))

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
  'azure-ai': (name) => [{ providerId: 'azure', name, lists: ['azure-ai', 'azure'] }],
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
  databricks: only('databricks'),
  'vercel-gateway': vercel,
  cloudflare,
  'huggingface-router': huggingFace,
  alibaba: only('alibaba'),
  moonshotai: only('moonshotai'),
  zai: only('zai'),
  voyageai: only('voyageai'),
  ollama: none,
  vllm: none,
  llamacpp: none,
  tgi: none,
  lmstudio: none,
  'litellm-proxy': none,
  gpustack: none,
  'openai-compatible': none,
}

/** The providers an upstream can have, as far as prices go. */
export const PRICED_PROVIDERS: readonly string[] = Object.keys(PLACES)

/** What `prices_of` may name: providers whose prices the catalog has, and `makers`: each model's own. */
export const PRICES_OF: readonly string[] = [
  ...PRICED_PROVIDERS.filter((provider) => PLACES[provider] !== none),
  'makers',
]

/**
 * Where the catalog may have the price of `model` at `provider` (one of ours), in the order to look. `pricesOf`: whose
 * prices the operator says hold there, one of {@link PRICES_OF}, or the host {@link BEDROCK_ELSEWHERE}; `null`: nobody's
 * but the provider's.
 */
export function catalogPlaces(
  provider: string,
  model: string,
  pricesOf: string | null = null,
): readonly CatalogPlace[] {
  if (pricesOf === null) return PLACES[provider]?.(model) ?? []
  if (pricesOf === 'makers') return maker(model)
  if (pricesOf === BEDROCK_ELSEWHERE) return bedrockElsewhere(model)
  return (PLACES[pricesOf]?.(model) ?? []).map(({ providerId, name }) => ({
    providerId,
    name: withoutMaker(providerId, name),
  }))
}

/** Hosts write the maker before a name (`deepseek-ai/DeepSeek-R1`), who does not do so himself. */
function withoutMaker(providerId: string, name: string): string {
  const [named] = namedMaker(name)
  return named?.providerId === providerId ? named.name : name
}

const SELLER_OF_CATALOG: ReadonlyMap<string, string> = new Map([
  ['google', 'gemini'],
  ['x-ai', 'xai'],
])

/** Whose service tiers hold, as one of our providers: the maker's where calls are only passed on to it. */
export function sellerOf(provider: string, pricesOf: string | null, catalogProviderId: string): string {
  if (pricesOf === BEDROCK_ELSEWHERE) return provider
  if (pricesOf !== null && pricesOf !== 'makers') return pricesOf
  const isPassedOn =
    pricesOf === 'makers' || (provider === 'cloudflare' && catalogProviderId !== 'cloudflare')
  return isPassedOn ? (SELLER_OF_CATALOG.get(catalogProviderId) ?? catalogProviderId) : provider
}

/** Whether a provider's answers name models in the words of who served them, so that only the request's name counts. */
export function answersInOthersWords(provider: string): boolean {
  return provider === 'huggingface-router'
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

/** Those that only other sources have, or tell apart. */
export const OTHER_PROVIDER_IDS: readonly string[] = [
  'google-vertex',
  'azure-ai',
  'vercel',
  'databricks',
  'alibaba',
]

function afterLast(text: string, separator: string): string {
  const at = text.lastIndexOf(separator)
  return at < 0 ? text : text.slice(at + separator.length)
}

function decoded(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
