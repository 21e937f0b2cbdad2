import { type LiteLlmPrices, readLiteLlmPrices } from './litellm-prices.ts'

export interface LiteLlmCatalog {
  /** Text in the form of genai-prices' `data.json`; of one list it is always the same. */
  readonly text: string
  readonly models: number
  /** Entries of unknown hosts, of other things than models, or without a price. */
  readonly passedOver: number
  /** Models that the list has twice, at different prices; they are left out. */
  readonly contradictory: readonly string[]
}

/** A longer text is not a price list; the largest known has 3 MiB. */
export const MAX_LITELLM_BYTES = 64 * 1024 * 1024

export interface LiteLlmReading {
  readonly catalog: LiteLlmCatalog | null
  /** With any, there is no catalog. */
  readonly problems: readonly string[]
  /** Models that were left out, and why. */
  readonly unread: readonly { readonly name: string; readonly why: string }[]
}

/** More entries than that cannot be read of no list that was only written wrong in some. */
const MOST_UNREAD = 1 / 100

/**
 * Reads LiteLLM's `model_prices_and_context_window.json`: an object of models with US dollars for one token,
 * picture, second ... All problems are reported.
 *
 * @param leaveOut Entries with problems, as long as they are few; else there is no catalog then.
 */
export function readLiteLlmCatalog(
  text: string,
  { leaveOut = false }: { readonly leaveOut?: boolean } = {},
): LiteLlmReading {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    const problem = `is not JSON: ${error instanceof Error ? error.message : error}`
    return { catalog: null, problems: [problem], unread: [] }
  }
  if (!isFields(value)) return { catalog: null, problems: ['is not an object of models'], unread: [] }
  const found: { name: string; why: string }[] = []
  const lists = new Map<string, Map<string, Listed>>()
  const contradictory = new Set<string>()
  let passedOver = 0
  for (const [key, entry] of Object.entries(value)) {
    if (!isFields(entry)) {
      found.push({ name: key, why: 'is not an object' })
      continue
    }
    const place =
      typeof entry.litellm_provider === 'string' ? placeOfLiteLlm(key, entry.litellm_provider) : null
    const known = found.length
    const prices =
      place === null ? null : readLiteLlmPrices(place.id, entry, (why) => void found.push({ name: key, why }))
    if (place === null || prices === null || found.length > known) {
      passedOver += 1
      continue
    }
    const list = lists.get(place.providerId) ?? new Map<string, Listed>()
    lists.set(place.providerId, list)
    const id = place.id.toLowerCase()
    const other = list.get(id)
    const both = other === undefined ? prices : union(other.prices, prices)
    if (both === null) contradictory.add(`${place.providerId}/${place.id}`)
    else list.set(id, { id: place.id, names: place.names, prices: both })
  }
  for (const name of contradictory) {
    const slash = name.indexOf('/')
    lists.get(name.slice(0, slash))?.delete(name.slice(slash + 1).toLowerCase())
  }
  const models = [...lists.values()].reduce((sum, { size }) => sum + size, 0)
  const entries = Object.keys(value).length
  const isFew = found.length <= Math.max(1, entries * MOST_UNREAD)
  const unread = [...new Map(found.map((one) => [one.name, one])).values()]
  const problems = leaveOut && isFew ? [] : found.map(({ name, why }) => `${name}: ${why}`)
  if (problems.length === 0 && models === 0) problems.push('has no price of a model at a host known here')
  if (problems.length > 0) return { catalog: null, problems, unread }
  const catalog = { text: render(lists), models, passedOver, contradictory: [...contradictory].sort() }
  return { catalog, problems, unread }
}

interface Listed {
  readonly id: string
  readonly names: readonly string[]
  readonly prices: LiteLlmPrices
}

/** `null`: they contradict each other. */
function union(one: LiteLlmPrices, other: LiteLlmPrices): LiteLlmPrices | null {
  const tiers = { ...one.serviceTiers, ...other.serviceTiers }
  const contradicts = (a: object = {}, b: object = {}) => {
    const others = new Map<string, unknown>(Object.entries(b))
    return Object.entries(a).some(
      ([key, rate]) => others.has(key) && JSON.stringify(others.get(key)) !== JSON.stringify(rate),
    )
  }
  if (contradicts(one.prices, other.prices)) return null
  for (const tier of Object.keys(tiers)) {
    if (contradicts(one.serviceTiers[tier], other.serviceTiers[tier])) return null
    tiers[tier] = { ...one.serviceTiers[tier], ...other.serviceTiers[tier] }
  }
  return { prices: { ...one.prices, ...other.prices }, serviceTiers: tiers }
}

function render(lists: ReadonlyMap<string, ReadonlyMap<string, Listed>>): string {
  const byName = (a: readonly [string, unknown], b: readonly [string, unknown]) => (a[0] < b[0] ? -1 : 1)
  return JSON.stringify(
    [...lists].sort(byName).map(([id, models]) => ({
      id,
      models: [...models].sort(byName).map(([, { id: name, names, prices: listed }]) => ({
        id: name,
        match: names.length === 1 ? { equals: names[0] } : { or: names.map((equals) => ({ equals })) },
        prices: listed.prices,
        ...(Object.keys(listed.serviceTiers).length === 0
          ? {}
          : { price_variants: variantsOf(listed.serviceTiers) }),
      })),
    })),
  )
}

function variantsOf(tiers: LiteLlmPrices['serviceTiers']): readonly object[] {
  return Object.entries(tiers).map(([tier, prices]) => ({ when: { service_tier: tier }, prices }))
}

function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The place in our lists of a model of LiteLLM's, and under which names calls ask for it. */
interface LiteLlmPlace {
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
function placeOfLiteLlm(key: string, provider: string): LiteLlmPlace | null {
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
