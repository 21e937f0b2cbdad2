import { readFileSync } from 'node:fs'
import type { Provider } from '../../src/providers/registry.ts'
import type { Listing, PriceClass, Rate } from './listing.ts'

/** Its names of providers, by ours. */
const PROVIDERS: readonly (readonly [id: string, provider: Provider])[] = [
  ['openai', 'openai'],
  ['azure', 'azure-openai'],
  ['azure', 'azure-ai'],
  ['anthropic', 'anthropic'],
  ['aws', 'bedrock'],
  ['google', 'gemini'],
  ['google', 'vertex'],
  ['x-ai', 'xai'],
  ['openrouter', 'openrouter'],
  ['mistral', 'mistral'],
  ['groq', 'groq'],
  ['deepseek', 'deepseek'],
  ['cohere', 'cohere'],
  ['perplexity', 'perplexity'],
  ['together', 'together'],
  ['fireworks', 'fireworks'],
  ['cerebras', 'cerebras'],
  ['cloudflare', 'cloudflare'],
  ['moonshotai', 'moonshotai'],
  ['zai', 'zai'],
  ['voyageai', 'voyageai'],
  ['databricks', 'databricks'],
]

const KEYS: Readonly<Record<string, readonly [PriceClass, per: number]>> = {
  input_mtok: ['input', 1e6],
  output_mtok: ['output', 1e6],
  cache_read_mtok: ['cacheRead', 1e6],
  cache_write_mtok: ['cacheWrite', 1e6],
  cache_write_5m_mtok: ['cacheWrite', 1e6],
  cache_write_1h_mtok: ['cacheWrite1h', 1e6],
  input_audio_mtok: ['audioInput', 1e6],
  output_audio_mtok: ['audioOutput', 1e6],
  cache_audio_read_mtok: ['cacheReadAudio', 1e6],
  input_image_mtok: ['imageInput', 1e6],
  output_image_mtok: ['imageOutput', 1e6],
  output_reasoning_mtok: ['reasoning', 1e6],
  web_searches_kcount: ['webSearch', 1e3],
  rerank_searches_kcount: ['searchUnit', 1e3],
  input_mchars: ['character', 1e6],
  input_document_kpages: ['page', 1e3],
}

interface Model {
  readonly id: string
  readonly match: unknown
  readonly prices: unknown
  readonly price_variants?: readonly Variant[]
}

interface Variant {
  readonly when: Readonly<Record<string, string>>
  readonly constraint?: { readonly start_date?: string }
  readonly prices: unknown
}

/** What it lists at service tiers on that day, of each class the first that is in force. */
function tierRates({ price_variants: variants = [] }: Model, today: string): Rate[] {
  const rates = variants
    .filter(({ constraint }) => (constraint?.start_date ?? '') <= today)
    .flatMap(({ when, prices }) => {
      const tier = when.service_tier ?? when.processing ?? when.speed
      return tier === undefined || tier === 'default'
        ? []
        : ratesOf(prices).map((rate) => ({ ...rate, tier }))
    })
  const key = (rate: Rate) => `${rate.class} ${rate.tier} ${rate.above}`
  return [...new Map(rates.toReversed().map((rate) => [key(rate), rate])).values()]
}

/** What follows a name and leaves it the same model's. */
const REVISION = /^(?:[-@]20[0-9]{6}|-20[0-9]{2}-[0-9]{2}-[0-9]{2}|-latest|-v[0-9]+(?::[0-9]+)?|:[0-9]+)*$/

/** Its data, as published; `readGenaiPrices` is called first. */
let lists: ReadonlyMap<string, readonly Model[]> = new Map()

/** @param file Its `data.json`. */
export function readGenaiPrices(file: string): void {
  const providers: readonly { id: string; models: readonly Model[] }[] = JSON.parse(
    readFileSync(file, 'utf8'),
  )
  lists = new Map(providers.map(({ id, models }) => [id, models]))
}

/** The names it gives a model word for word. */
export function namesInGenaiPrices(): { readonly provider: Provider; readonly model: string }[] {
  return PROVIDERS.flatMap(([id, provider]) =>
    modelsOf(id).flatMap((model) =>
      [...new Set([model.id, ...texts(model.match, ['equals'])])].map((name) => ({ provider, model: name })),
    ),
  )
}

/**
 * What genai-prices says of a model by that name: the first model in its order whose rule takes the name. The
 * rule must say all of the name but a revision: a rule that takes `gpt-5-something` because it begins with
 * `gpt-5` says nothing about it. Its fall-backs from hosts to makers are not taken either, as they are rules
 * of its calculator.
 */
export function listingInGenaiPrices(provider: Provider, name: string, today: string): Listing | null {
  const [id] = PROVIDERS.find(([, ours]) => ours === provider) ?? []
  if (id === undefined) return null
  const lower = name.toLowerCase()
  const model = modelsOf(id).find(
    (candidate) => candidate.id.toLowerCase() === lower || matches(candidate.match, lower),
  )
  if (model === undefined) return null
  const words = [model.id, ...texts(model.match, ['equals', 'starts_with', 'contains', 'ends_with'])]
  const isSaid = words.some(
    (word) => lower.startsWith(word.toLowerCase()) && REVISION.test(lower.slice(word.length)),
  )
  if (!isSaid) return null
  const hours = ratesByHour(model.prices, today)
  const rates = [...(hours.at(-1) ?? []), ...tierRates(model, today)]
  if (rates.length === 0) return null
  const listing = { source: 'genai-prices', provider, model: name, kind: 'chat', rates } as const
  return hours.length > 1 ? { ...listing, hours } : listing
}

function modelsOf(id: string): readonly Model[] {
  return lists.get(id) ?? []
}

function matches(logic: unknown, name: string): boolean {
  const [[operator, operand] = ['', undefined]] = Object.entries(Object(logic))
  if (operator === 'or') return Array.isArray(operand) && operand.some((rule) => matches(rule, name))
  if (operator === 'and') return Array.isArray(operand) && operand.every((rule) => matches(rule, name))
  const text = `${operand}`.toLowerCase()
  if (operator === 'equals') return name === text
  if (operator === 'starts_with') return name.startsWith(text)
  if (operator === 'ends_with') return name.endsWith(text)
  if (operator === 'contains') return name.includes(text)
  return operator === 'regex' && new RegExp(`${operand}`).test(name)
}

function texts(logic: unknown, operators: readonly string[]): string[] {
  return Object.entries(Object(logic)).flatMap(([operator, operand]) => {
    if (Array.isArray(operand)) return operand.flatMap((rule) => texts(rule, operators))
    return operators.includes(operator) ? [`${operand}`] : []
  })
}

interface Dated {
  readonly constraint?: { readonly start_date?: string; readonly start_time?: string }
  readonly prices: unknown
}

/** The prices in force on that day: one list of them, or one for each time of day. */
function ratesByHour(prices: unknown, today: string): Rate[][] {
  if (!Array.isArray(prices)) return [ratesOf(prices)]
  const dated: readonly Dated[] = prices
  const byDay = dated.filter(({ constraint }) => constraint?.start_time === undefined)
  const byHour = dated.filter(({ constraint }) => constraint?.start_time !== undefined)
  const inForce = byDay.findLast(({ constraint }) => (constraint?.start_date ?? '') <= today) ?? byDay[0]
  return [...byHour, ...(inForce === undefined ? [] : [inForce])].map(({ prices: listed }) => ratesOf(listed))
}

function ratesOf(prices: unknown): Rate[] {
  return Object.entries(Object(prices)).flatMap(([key, value]): Rate[] => {
    const known = KEYS[key]
    if (known === undefined) return []
    const [name, per] = known
    if (typeof value === 'number') {
      return value > 0 ? [{ class: name, tier: '', above: 0, usd: value / per }] : []
    }
    const { base, tiers }: { base?: number; tiers?: readonly { start: number; price: number }[] } =
      Object(value)
    const at = (above: number, usd = 0): Rate[] =>
      usd > 0 ? [{ class: name, tier: '', above, usd: usd / per }] : []
    return [...at(0, base), ...(tiers ?? []).flatMap(({ start, price }) => at(start, price))]
  })
}
