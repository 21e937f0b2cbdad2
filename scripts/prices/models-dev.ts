import { z } from 'zod'
import { listModelsDevModel, type ModelsDevRates } from '#prices/models-dev-catalog.ts'

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

type ListedModel = NonNullable<ReturnType<typeof listModelsDevModel>>

export interface ListedProvider {
  readonly id: string
  readonly models: readonly ListedModel[]
}

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
    .filter(({ type }) => type === 'chat')
    .flatMap(({ id: name, cost: { tiers, ...rates } }) => {
      const sizes = tiers.map(({ inputTokensAbove: above, ...rest }) => ({ above, rates: ratesOf(rest) }))
      return listModelsDevModel(id, name, ratesOf(rates), sizes) ?? []
    })
  return { id, models: models.toSorted((a, b) => (a.match.equals < b.match.equals ? -1 : 1)) }
}

function ratesOf({ input, output, cacheRead, cacheWrite }: z.infer<typeof ratesShape>): ModelsDevRates {
  return { input, output, cache_read: cacheRead, cache_write: cacheWrite }
}
