import { z } from 'zod'
import type { CatalogDocument } from './catalog-document.ts'

/** The providers that are taken of models.dev's `api.json`, by its names, and the catalog's ids of them. */
const TAKEN: Readonly<Record<string, string>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'google',
  'google-vertex': 'google-vertex',
  'amazon-bedrock': 'aws',
  azure: 'azure',
  xai: 'x-ai',
  mistral: 'mistral',
  groq: 'groq',
  deepseek: 'deepseek',
  'fireworks-ai': 'fireworks',
  togetherai: 'together',
  cerebras: 'cerebras',
  zai: 'zai',
  moonshotai: 'moonshotai',
  openrouter: 'openrouter',
  vercel: 'vercel',
  'cloudflare-workers-ai': 'cloudflare',
}

const dollars = z.number()
/** US dollars for a million tokens. */
const ratesShape = z.object({
  input: dollars.optional(),
  output: dollars.optional(),
  cache_read: dollars.optional(),
  cache_write: dollars.optional(),
  input_audio: dollars.optional(),
  output_audio: dollars.optional(),
})
const tierShape = ratesShape.extend({ tier: z.object({ type: z.string(), size: z.int().positive() }) })
const modelShape = z.object({
  modalities: z.object({ output: z.array(z.string()) }).optional(),
  cost: ratesShape
    .extend({ tiers: z.array(tierShape).optional(), context_over_200k: ratesShape.optional() })
    .optional(),
})
const providerShape = z.object({ models: z.record(z.string().min(1), z.unknown()) })

export type ModelsDevRates = z.infer<typeof ratesShape>

/** Prices of prompts above so many tokens. */
export interface ModelsDevSize {
  readonly above: number
  readonly rates: ModelsDevRates
}

type Rate = number | { base: number; tiers: { start: number; price: number }[] }

const KEYS = [
  ['input_mtok', 'input'],
  ['output_mtok', 'output'],
  ['cache_read_mtok', 'cache_read'],
  ['cache_write_mtok', 'cache_write'],
  ['input_audio_mtok', 'input_audio'],
  ['output_audio_mtok', 'output_audio'],
] as const

/**
 * One model in the form of genai-prices' `data.json`. `null`: it has no price, or is free and not named so: a 0 says only
 * that nothing was looked up.
 */
export function listModelsDevModel(
  providerId: string,
  name: string,
  rates: ModelsDevRates,
  sizes: readonly ModelsDevSize[],
): { readonly id: string; readonly match: { readonly equals: string }; readonly prices: object } | null {
  const { input = 0, output = 0 } = rates
  const isFree = input === 0 && output === 0 && name.endsWith(':free')
  if (!isFree && (input === 0 || output === 0)) return null
  const prices = KEYS.flatMap(([key, kind]): [string, Rate][] => {
    const base = rates[kind]
    const isToken = kind === 'input' || kind === 'output'
    if (base === undefined || (!isToken && base === 0)) return []
    const tiers = sizes.flatMap(({ above, rates: { [kind]: price } }) =>
      price === undefined ? [] : [{ start: above, price }],
    )
    // Its price for long prompts is unknown, so it has none.
    if (tiers.length < sizes.length) return []
    return [[key, tiers.length === 0 ? base : { base, tiers: tiers.sort((a, b) => a.start - b.start) }]]
  })
  // As genai-prices calls them, so that one model has one id.
  const id =
    providerId === 'fireworks' ? name.replace(/^accounts\/fireworks\/(?:models|routers)\//, '') : name
  return { id, match: { equals: name }, prices: Object.fromEntries(prices) }
}

export interface ModelsDevReading {
  /** In the form of genai-prices' `data.json`; `null`: it cannot be read. */
  readonly text: string | null
  readonly problems: readonly string[]
  /** Models that were left out, and why. */
  readonly unread: readonly { readonly provider: string; readonly model: string; readonly why: string }[]
}

/** More models than that cannot be read of no list that was only written wrong in some. */
const MOST_UNREAD = 1 / 100
/** The rest of what a release bundles is of other lists. */
const LEAST_LISTED = 1 / 3

/**
 * Reads models.dev's `api.json`. Taken is what answers with text alone and has a price.
 *
 * @param known What is in force. A release has more than this list, from those of hosts: what it does not name stays.
 */
export function readModelsDevCatalog(text: string, known: CatalogDocument): ModelsDevReading {
  const refused = (problem: string): ModelsDevReading => ({ text: null, problems: [problem], unread: [] })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return refused(`is not JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (typeof value !== 'object' || value === null) return refused('is not an object of providers')
  const listed = new Map(Object.entries(value))
  const unread: { provider: string; model: string; why: string }[] = []
  const lists = new Map<string, Map<string, unknown>>()
  let models = 0
  for (const [theirs, id] of Object.entries(TAKEN)) {
    const provider = providerShape.safeParse(listed.get(theirs))
    for (const [name, written] of Object.entries(provider.data?.models ?? {})) {
      models += 1
      const read = readModel(id, name, written)
      if (typeof read === 'string') unread.push({ provider: id, model: name, why: read })
      else if (read !== null) lists.set(id, (lists.get(id) ?? new Map()).set(read.id, read))
    }
  }
  if (unread.length > Math.max(1, models * MOST_UNREAD)) {
    return refused(unread.map(({ provider, model, why }) => `${provider}/${model}: ${why}`).join('; '))
  }
  const inForce = new Map(known.map((provider) => [provider.id, provider]))
  const namedBoth = [...lists].flatMap(([id, list]) =>
    (inForce.get(id)?.models ?? []).filter((model) => list.has(model.id)),
  )
  const before = known.reduce((sum, provider) => sum + provider.models.length, 0)
  if (namedBoth.length < before * LEAST_LISTED) {
    return refused(`it lists ${namedBoth.length} of the ${before} models that are known`)
  }
  const ids = [...new Set([...inForce.keys(), ...lists.keys()])]
  const providers = ids.map((id) => {
    const { models: old = [], ...rest } = inForce.get(id) ?? { id }
    const newer = lists.get(id) ?? new Map<string, unknown>()
    const kept = old.filter(
      ({ id: own, gone_since: gone, moved_since: moved }) =>
        !newer.has(own) && gone === undefined && moved === undefined,
    )
    return { ...rest, models: [...kept, ...newer.values()] }
  })
  return { text: JSON.stringify(providers), problems: [], unread }
}

/** A text says what is wrong with it; `null`: it is not of those that are taken. */
function readModel(providerId: string, name: string, written: unknown) {
  const { data, error } = modelShape.safeParse(written)
  if (data === undefined) return error.issues[0]?.message ?? 'is not a model'
  const { cost, modalities } = data
  if (cost === undefined || modalities?.output.some((kind) => kind !== 'text') === true) return null
  const rates = [cost, ...(cost.tiers ?? []), ...(cost.context_over_200k ? [cost.context_over_200k] : [])]
  const isNegative = rates.some((one) => KEYS.some(([, kind]) => (one[kind] ?? 0) < 0))
  if (isNegative) return 'a price is negative'
  const { tiers = [], context_over_200k: long } = cost
  if (tiers.some(({ tier }) => tier.type !== 'context'))
    return 'it has prices by other than the size of prompts'
  const above200k = long === undefined ? [] : [{ above: 200_000, rates: long }]
  const sizes = tiers.length > 0 ? tiers.map((one) => ({ above: one.tier.size, rates: one })) : above200k
  return listModelsDevModel(providerId, name, cost, sizes)
}
