import { readFileSync } from 'node:fs'
import type { Kind, Listing, PriceClass, Rate, Skipped } from './listing.ts'
import { placeInLiteLlm } from './litellm-names.ts'

type Entry = Readonly<Record<string, unknown>>

/** Keys of token prices, without the size of prompt and the tier that may follow. */
const TOKEN_KEYS: ReadonlyMap<string, PriceClass> = new Map([
  ['input_cost_per_token', 'input'],
  ['output_cost_per_token', 'output'],
  ['cache_read_input_token_cost', 'cacheRead'],
  ['cache_creation_input_token_cost', 'cacheWrite'],
  ['cache_creation_input_token_cost_above_1hr', 'cacheWrite1h'],
  ['cache_creation_input_token_cost_above_12hr', 'cacheWrite12h'],
  ['input_cost_per_audio_token', 'audioInput'],
  ['output_cost_per_audio_token', 'audioOutput'],
  ['cache_read_input_audio_token_cost', 'cacheReadAudio'],
  ['input_cost_per_image_token', 'imageInput'],
  ['output_cost_per_image_token', 'imageOutput'],
  ['input_cost_per_video_token', 'videoInput'],
  ['output_cost_per_reasoning_token', 'reasoning'],
])

const KEY = /^(.+?)(?:_above_([0-9]+)k_tokens)?(?:_(batches|flex|priority|ultrafast|balanced))?$/

const KINDS: Readonly<Record<string, Kind>> = {
  chat: 'chat',
  responses: 'responses',
  completion: 'completion',
  embedding: 'embedding',
  image_generation: 'image',
  audio_transcription: 'transcription',
  audio_speech: 'speech',
  rerank: 'rerank',
  ocr: 'ocr',
  video_generation: 'video',
  // A session's frames name their usage as these do; the price is looked up by the same name.
  realtime: 'responses',
}

/** LiteLLM's price list: `model_prices_and_context_window_backup.json` of the Python package. */
export function readLiteLlm(file: string, skipped: Skipped): Listing[] {
  const entries: Readonly<Record<string, Entry>> = JSON.parse(readFileSync(file, 'utf8'))
  return Object.entries(entries).flatMap(([key, entry]) => {
    const kind = KINDS[`${entry.mode}`]
    const place = placeInLiteLlm(key, `${entry.litellm_provider}`, skipped)
    if (place === null || kind === undefined) return []
    const rates = ratesOf(entry, kind, place.provider)
    if (rates.length === 0) return []
    return [{ source: 'litellm' as const, ...place, kind, rates }]
  })
}

function ratesOf(entry: Entry, kind: Kind, provider: string): Rate[] {
  const rates = Object.entries(entry).flatMap(([key, value]): Rate[] => {
    if (typeof value !== 'number' || !(value > 0)) return []
    const [, base = '', above = '0', tier = ''] = KEY.exec(key) ?? []
    const wanted = TOKEN_KEYS.get(base)
    if (wanted === undefined) return []
    return [
      {
        class: wanted,
        tier: tier === 'batches' ? 'batch' : tier,
        above: Number(above) * 1_000,
        usd: value,
      },
    ]
  })
  return [...rates, ...unitRates(entry, kind, provider), ...factorTiers(entry, rates, provider)]
}

function unitRates(entry: Entry, kind: Kind, provider: string): Rate[] {
  const one = (wanted: PriceClass, value: unknown, tier = ''): Rate[] =>
    typeof value === 'number' && value > 0 ? [{ class: wanted, tier, above: 0, usd: value }] : []
  const hasTokens = entry.input_cost_per_token !== undefined && entry.input_cost_per_token !== 0
  const searches = entry.search_context_cost_per_query
  const { low, medium, high } = sizesOf(searches)
  const rates: Rate[] = []
  if (provider === 'perplexity' && kind === 'chat' && low !== high) {
    rates.push(...one('request', low, 'search_low'), ...one('request', medium, 'search_medium'))
    rates.push(...one('request', high, 'search_high'))
  } else if (low === high && low === medium) rates.push(...one('webSearch', low))
  if (kind === 'rerank' && !hasTokens) rates.push(...one('searchUnit', entry.input_cost_per_query))
  if (kind === 'ocr') rates.push(...one('page', entry.ocr_cost_per_page))
  if (kind === 'speech' && !hasTokens) rates.push(...one('character', entry.input_cost_per_character))
  if (kind === 'transcription' && !hasTokens) rates.push(...one('audioSecond', entry.input_cost_per_second))
  if (kind === 'video') {
    // The price without a resolution; that of others rides on the answer's size.
    const bySecond = entry.output_cost_per_video_per_second ?? entry.output_cost_per_second
    rates.push(...one('videoSecond', bySecond))
  }
  if (kind === 'image' && !hasTokens && entry.output_cost_per_image_token === undefined) {
    rates.push(...one('image', entry.output_cost_per_image ?? entry.input_cost_per_image))
  }
  return rates
}

function sizesOf(value: unknown): { low?: unknown; medium?: unknown; high?: unknown } {
  const sizes: Readonly<Record<string, unknown>> = Object(value)
  return {
    low: sizes.search_context_size_low,
    medium: sizes.search_context_size_medium,
    high: sizes.search_context_size_high,
  }
}

/** Anthropic's tiers are factors on all token prices, and compose with the batch's. */
function factorTiers(entry: Entry, rates: readonly Rate[], provider: string): Rate[] {
  if (provider !== 'anthropic') return []
  const factors: Readonly<Record<string, unknown>> = Object(entry.provider_specific_entry)
  const times = (tier: string, of: string, factor: unknown) =>
    typeof factor === 'number'
      ? rates.filter((rate) => rate.tier === of).map((rate) => ({ ...rate, tier, usd: rate.usd * factor }))
      : []
  return [
    ...times('fast', '', factors.fast),
    ...times('us', '', factors.us),
    ...times('batch+us', 'batch', factors.us),
  ]
}
