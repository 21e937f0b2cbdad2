import { z } from 'zod'

/** The providers that are taken, by their names at models.dev, and the catalog's ids of them. */
export const TAKEN_PROVIDERS: Readonly<Record<string, string>> = {
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
  fireworks: 'fireworks',
  together: 'together',
  cerebras: 'cerebras',
  zai: 'zai',
  moonshotai: 'moonshotai',
  openrouter: 'openrouter',
  'vercel-ai-gateway': 'vercel',
  'cloudflare-workers-ai': 'cloudflare',
}

/** US dollars for a million tokens. Of caches, 0 says that it was not looked up. */
const ratesShape = z.object({
  input: z.number().nonnegative(),
  output: z.number().nonnegative(),
  cacheRead: z.number().nonnegative(),
  cacheWrite: z.number().nonnegative(),
})
const modelShape = z.object({
  type: z.enum(['chat', 'image', 'classifier']),
  id: z.string().min(1),
  cost: ratesShape.extend({
    tiers: z.array(ratesShape.extend({ inputTokensAbove: z.int().positive() })).default([]),
  }),
})
const providerShape = z.record(z.string(), z.record(z.string(), modelShape))

type Costs = z.infer<typeof modelShape>['cost']
type Rate = number | { base: number; tiers: { start: number; price: number }[] }

interface ListedModel {
  readonly id: string
  readonly match: { readonly equals: string }
  readonly prices: Readonly<Record<string, Rate>>
}

export interface ListedProvider {
  readonly id: string
  readonly models: readonly ListedModel[]
}

const KEYS = [
  ['input_mtok', 'input'],
  ['output_mtok', 'output'],
  ['cache_read_mtok', 'cacheRead'],
  ['cache_write_mtok', 'cacheWrite'],
] as const

/**
 * One provider's list in the form of genai-prices' `data.json`. Taken is what answers with text and has a price, or is
 * named free; a 0 elsewhere says only that it was not looked up.
 *
 * @param list The package's `data/<provider>.json`.
 * @throws {z.ZodError} when it has another shape.
 */
export function listProvider(id: string, list: unknown): ListedProvider {
  const models = Object.values(providerShape.parse(list))
    .flatMap((group) => Object.values(group))
    .filter(({ type, id: name, cost }) => {
      const isFree = cost.input === 0 && cost.output === 0 && name.endsWith(':free')
      return type === 'chat' && (isFree || (cost.input > 0 && cost.output > 0))
    })
    .map(({ id: name, cost }) => listModel(id, name, cost))
  return { id, models: models.toSorted((a, b) => (a.match.equals < b.match.equals ? -1 : 1)) }
}

function listModel(providerId: string, name: string, cost: Costs): ListedModel {
  const prices = KEYS.flatMap(([key, rate]): [string, Rate][] => {
    const base = cost[rate]
    const isToken = rate === 'input' || rate === 'output'
    if (!isToken && base === 0) return []
    const tiers = cost.tiers
      .toSorted((a, b) => a.inputTokensAbove - b.inputTokensAbove)
      .map((tier) => ({ start: tier.inputTokensAbove, price: tier[rate] }))
    return [[key, tiers.length === 0 ? base : { base, tiers }]]
  })
  // As genai-prices calls them, so that one model has one id.
  const id =
    providerId === 'fireworks' ? name.replace(/^accounts\/fireworks\/(?:models|routers)\//, '') : name
  return { id, match: { equals: name }, prices: Object.fromEntries(prices) }
}
