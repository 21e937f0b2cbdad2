import type { MatchLogic, ModelInfo, ModelPrice, Provider } from '@pydantic/genai-prices'
import { ADDED_RATES } from '../../src/pricing/corrections/added-rates.ts'
import { isMisnamed } from '../../src/pricing/corrections/misnamed.ts'

/**
 * What a call costs by the catalog's published data and what is added to it, worked out without the product's
 * code and in another way. A call is a heap of tokens, each of exactly one sort, and each sort has one price.
 * Fractions throughout, with one rounding, of each price to a whole number of pico-dollars, halves up.
 */

/** Sorts of tokens: every token of a call is of exactly one. */
export const SORTS = [
  'plain',
  'cached',
  'written5m',
  'written1h',
  'audio',
  'cachedAudio',
  'image',
  'answer',
  'reasoning',
  'spoken',
  'drawn',
] as const

export type Heap = Record<(typeof SORTS)[number], number> & {
  webSearches: number
  audioMs: number
  pages: number
}

/** Where a sort finds its price: the first of these keys that the model has. */
const KEYS_OF: Record<(typeof SORTS)[number], readonly string[]> = {
  plain: ['input_mtok'],
  cached: ['cache_read_mtok', 'input_mtok'],
  written5m: ['cache_write_mtok', 'input_mtok'],
  written1h: ['cache_write_1h_mtok', 'cache_write_mtok', 'input_mtok'],
  audio: ['input_audio_mtok', 'input_mtok'],
  cachedAudio: ['cache_audio_read_mtok', 'input_audio_mtok', 'cache_read_mtok', 'input_mtok'],
  image: ['input_image_mtok', 'input_mtok'],
  answer: ['output_mtok'],
  reasoning: ['output_reasoning_mtok', 'output_mtok'],
  spoken: ['output_audio_mtok', 'output_mtok'],
  drawn: ['output_image_mtok', 'output_mtok'],
}

/** What all prices, and those of tokens once more, are multiplied by: numerator and denominator. */
export interface Deal {
  readonly name: string
  readonly all: readonly [bigint, bigint]
  readonly tokens: readonly [bigint, bigint]
}

export const LIST_PRICES: Deal = { name: 'list', all: [1n, 1n], tokens: [1n, 1n] }

export interface OracleModel {
  readonly providerId: string
  readonly model: ModelInfo
  /** The price of one by its key, in pico-dollars, at a time, for a size of prompt; `null`: it has none. */
  pricesAt(atMs: number, inputTokens: number, deal: Deal): (key: string) => bigint | null
  /** Sizes of prompt at which a price changes. */
  readonly steps: readonly number[]
}

export function oracleCost(model: OracleModel, heap: Heap, atMs: number, deal: Deal): bigint {
  const inputTokens =
    heap.plain + heap.cached + heap.written5m + heap.written1h + heap.audio + heap.cachedAudio + heap.image
  const price = model.pricesAt(atMs, inputTokens, deal)
  let cost = 0n
  for (const sort of SORTS) {
    if (heap[sort] === 0) continue
    for (const key of KEYS_OF[sort]) {
      const each = price(key)
      if (each === null) continue
      cost += each * BigInt(heap[sort])
      break
    }
  }
  cost += (price('web_searches_kcount') ?? 0n) * BigInt(heap.webSearches)
  cost += (price('input_document_kpages') ?? 0n) * BigInt(heap.pages)
  const isWhisperAtGroq = model.providerId === 'groq' && model.model.id.startsWith('whisper-large-v3')
  const billedMs = isWhisperAtGroq && heap.audioMs > 0 ? Math.max(heap.audioMs, 10_000) : heap.audioMs
  cost += (price('input_audio_hours') ?? price('audio_hours') ?? 0n) * BigInt(billedMs)
  if (Object.values(heap).some((count) => count > 0)) cost += price('requests_kcount') ?? 0n
  return cost
}

/** Keys of the catalog, and the classes of ours that are added to its data. */
const ADDED_KEYS: Record<string, string> = {
  web_searches_kcount: 'webSearch',
  cache_write_1h_mtok: 'cacheWrite1h',
  input_image_mtok: 'imageInput',

  requests_kcount: 'request',
}

/** The price of one by our own data, where the catalog has none or a wrong one. */
function addedPico(
  seller: string,
  modelId: string,
  key: string,
  atMs: number,
  deal: Deal,
  inputPrice: number,
): { readonly replaces: boolean; readonly pico: bigint } | null {
  const day = new Date(atMs).toISOString().slice(0, 10)
  const added = ADDED_RATES.find(
    ({ providers, models, rate, from }) =>
      rate === ADDED_KEYS[key] &&
      providers.includes(seller) &&
      models.test(modelId.toLowerCase()) &&
      (from ?? '') <= day,
  )
  if (added === undefined) return null
  const { price, replaces = false } = added
  const dollars = 'usd' in price ? price.usd : String(Number(price.times) * inputPrice)
  const pico = picoOf({ [key]: Number(dollars) }, key, 0, deal) ?? 0n
  return { replaces, pico }
}

/** `seller`: the provider of ours that sells it. */
export function oracleModel(seller: string, providerId: string, model: ModelInfo): OracleModel {
  const dated = Array.isArray(model.prices) ? model.prices : [{ prices: model.prices }]
  const steps = new Set<number>()
  for (const { prices } of dated) {
    for (const price of Object.values(prices)) {
      if (typeof price === 'object') for (const tier of price.tiers) steps.add(tier.start)
    }
  }
  const known = new Map<string, Map<string, bigint | null>>()
  return {
    providerId,
    model,
    steps: [...steps],
    pricesAt(atMs, inputTokens, deal) {
      const day = Math.floor(atMs / 86_400_000)
      const index = indexAt(dated, atMs)
      let above = 0
      for (const step of steps) if (inputTokens > step) above += 1
      const query = `${index} ${deal.name} ${above}`
      const byKey = known.get(query) ?? new Map<string, bigint | null>()
      known.set(query, byKey)
      return (key) => {
        // Only what we add begins on a day of its own.
        const asked = Object.hasOwn(ADDED_KEYS, key) ? `${key} ${day}` : key
        let answer = byKey.get(asked)
        if (answer === undefined) {
          const prices = dated[index]?.prices ?? {}
          answer = picoOf(prices, key, inputTokens, deal)
          const input = dollarsOf(prices, 'input_mtok', inputTokens)
          const added = addedPico(seller, model.id, key, atMs, deal, input ?? 0)
          if (added !== null && (answer === null || added.replaces)) answer = added.pico
          byKey.set(asked, answer)
        }
        return answer
      }
    },
  }
}

type Dated = { readonly constraint?: object; readonly prices: ModelPrice }

/** The package's documented order: from the last to the first, the first that holds; else the first of all. */
function indexAt(dated: readonly Dated[], atMs: number): number {
  for (let index = dated.length - 1; index > 0; index--) {
    const constraint: Record<string, string> = { ...dated[index]?.constraint }
    const iso = new Date(atMs).toISOString()
    if (constraint.start_date !== undefined && iso.slice(0, 10) >= constraint.start_date) return index
    if (constraint.start_time !== undefined && constraint.end_time !== undefined) {
      const time = iso.slice(11, 19)
      const start = constraint.start_time.slice(0, 8)
      const end = constraint.end_time.slice(0, 8)
      if (!constraint.start_time.endsWith('Z') || !constraint.end_time.endsWith('Z'))
        throw new Error('not UTC')
      if (start < end ? time >= start && time < end : time >= start || time < end) return index
    }
  }
  return 0
}

const PER: readonly (readonly [string, bigint])[] = [
  ['_mtok', 1_000_000n],
  ['_kcount', 1_000n],
  ['_kpages', 1_000n],
  ['_hours', 3_600_000n],
]

function dollarsOf(prices: ModelPrice, key: string, inputTokens: number): number | null {
  const listed = prices[key]
  if (listed === undefined) return null
  let dollars = typeof listed === 'number' ? listed : listed.base
  if (typeof listed === 'object') {
    for (const tier of listed.tiers) if (inputTokens > tier.start) dollars = tier.price
  }
  return dollars
}

function picoOf(prices: ModelPrice, key: string, inputTokens: number, deal: Deal): bigint | null {
  const dollars = dollarsOf(prices, key, inputTokens)
  if (dollars === null) return null
  const per = PER.find(([suffix]) => key.endsWith(suffix))?.[1]
  if (per === undefined) throw new Error(`no unit of ${key}`)
  const [mantissa = '', exponent = '0'] = String(dollars).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  let numerator = BigInt(whole + fraction) * 1_000_000_000_000n
  let denominator = per
  const power = Number(exponent) - fraction.length
  if (power < 0) denominator *= 10n ** BigInt(-power)
  else numerator *= 10n ** BigInt(power)
  for (const [above, below] of key.endsWith('_mtok') ? [deal.all, deal.tokens] : [deal.all]) {
    numerator *= above
    denominator *= below
  }
  const floor = numerator / denominator
  return (numerator % denominator) * 2n >= denominator ? floor + 1n : floor
}

/** Whether the catalog's rule takes this name. */
export function oracleMatches(rule: MatchLogic, name: string): boolean {
  if ('or' in rule) return rule.or.some((part) => oracleMatches(part, name))
  if ('and' in rule) return rule.and.every((part) => oracleMatches(part, name))
  const lower = name.toLowerCase()
  if ('equals' in rule) return rule.equals.toLowerCase() === lower
  if ('starts_with' in rule) return lower.indexOf(rule.starts_with.toLowerCase()) === 0
  if ('ends_with' in rule) return lower.endsWith(rule.ends_with.toLowerCase())
  if ('contains' in rule) return lower.indexOf(rule.contains.toLowerCase()) >= 0
  return new RegExp(rule.regex).test(lower)
}

/** Names that a rule spells out whole. */
function spelledOut(rule: MatchLogic): string[] {
  if ('or' in rule) return rule.or.flatMap(spelledOut)
  if ('equals' in rule) return [rule.equals]
  if ('starts_with' in rule) return [rule.starts_with]
  if ('contains' in rule) return [rule.contains]
  return []
}

/**
 * Every name that the provider's rules spell out, with the model that the catalog gives it: the first whose
 * rule says all of it.
 */
export function namedModels(provider: Provider): { name: string; model: ModelInfo }[] {
  return provider.models
    .flatMap(({ match }) => spelledOut(match))
    .flatMap((name) => {
      const says = ({ id, match }: ModelInfo) =>
        [id, ...spelledOut(match)].some((text) => text.toLowerCase() === name.toLowerCase())
      const model = provider.models.find(says)
      return model === undefined || isMisnamed(provider.id, name.toLowerCase(), model.id)
        ? []
        : [{ name, model }]
    })
}
