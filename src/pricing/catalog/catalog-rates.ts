import { type Decimal, decimalOfText, decimalText, multiply, scaleToInteger } from '#prices/decimal.ts'
import type { AddedRate } from '../corrections/added-rates.ts'
import type { RateClass, Rates } from '../price-rates.ts'
import type { CatalogRate, DatedPrices } from './catalog-entries.ts'
import type { TierFactor } from './catalog-service-tiers.ts'

interface RateKey {
  readonly rate: RateClass
  /** Of what we count, as many as the catalog's figure is the price of. */
  readonly per: bigint
  readonly measure: 'tokens' | 'other'
}

const perMillionTokens = (rate: RateClass): RateKey => ({ rate, per: 1_000_000n, measure: 'tokens' })
const perThousand = (rate: RateClass): RateKey => ({ rate, per: 1_000n, measure: 'other' })
const PER_AUDIO_HOUR: RateKey = { rate: 'audioMs', per: 3_600_000n, measure: 'other' }

/**
 * The catalog's price keys and what we count of them. Of two keys for the same rate the later one wins: the more
 * particular. Source: the package's unit table (its README, `prices/units.yml`).
 */
const RATE_KEYS: ReadonlyMap<string, RateKey> = new Map([
  ['input_mtok', perMillionTokens('input')],
  ['cache_read_mtok', perMillionTokens('cacheRead')],
  ['cache_write_mtok', perMillionTokens('cacheWrite')],
  ['cache_write_5m_mtok', perMillionTokens('cacheWrite')],
  ['cache_write_1h_mtok', perMillionTokens('cacheWrite1h')],
  ['input_audio_mtok', perMillionTokens('audioInput')],
  ['cache_audio_read_mtok', perMillionTokens('cacheReadAudio')],
  ['input_image_mtok', perMillionTokens('imageInput')],
  ['input_video_mtok', perMillionTokens('videoInput')],
  ['cache_image_read_mtok', perMillionTokens('cacheReadImage')],
  ['output_mtok', perMillionTokens('output')],
  ['output_reasoning_mtok', perMillionTokens('reasoning')],
  ['output_audio_mtok', perMillionTokens('audioOutput')],
  ['output_image_mtok', perMillionTokens('imageOutput')],
  ['requests_kcount', perThousand('request')],
  ['web_searches_kcount', perThousand('webSearch')],
  ['storage_searches_kcount', perThousand('fileSearch')],
  ['rerank_searches_kcount', perThousand('searchUnit')],
  ['audio_hours', PER_AUDIO_HOUR],
  ['input_audio_hours', PER_AUDIO_HOUR],
  ['input_mchars', { rate: 'character', per: 1_000_000n, measure: 'other' }],
  ['input_document_kpages', perThousand('page')],
  ['input_annotated_document_kpages', perThousand('annotatedPage')],
  // Not in that table: what other sources list.
  ['cache_write_12h_mtok', perMillionTokens('cacheWrite12h')],
  ['images_kcount', perThousand('image')],
  ['video_hours', { rate: 'videoMs', per: 3_600_000n, measure: 'other' }],
  ['map_searches_kcount', perThousand('mapSearch')],
  ['output_citation_mtok', { rate: 'citationToken', per: 1_000_000n, measure: 'tokens' }],
])

/** What a key of the catalog is the price of; `null`: nothing that we count. */
export function rateOfKey(key: string): RateClass | null {
  return RATE_KEYS.get(key)?.rate ?? null
}

/** Whether a key of the catalog is the price of one of these classes. */
export function isKeyOfAny(classes: ReadonlySet<RateClass>, key: string): boolean {
  const rate = rateOfKey(key)
  return rate !== null && classes.has(rate)
}

/** Whether a key of the catalog is a price of tokens. */
export function isTokenKey(key: string): boolean {
  return RATE_KEYS.get(key)?.measure === 'tokens'
}

const PICO_PER_DOLLAR = 1_000_000_000_000n

/** `price` US dollars for `per` of something, as integer pico-USD for one, halves rounded up: the only rounding. */
export function picoPerOne(price: Decimal, per: bigint): bigint {
  return scaleToInteger(price, PICO_PER_DOLLAR, per)
}

/** The sizes of prompt at which the price of anything changes, rising. */
export function tierStarts(prices: Pick<DatedPrices, 'byKey'>): number[] {
  const starts = new Set<number>()
  for (const { tiers } of prices.byKey.values()) for (const { above } of tiers) starts.add(above)
  return [...starts].sort((a, b) => a - b)
}

/**
 * The flat rates for calls of more than `above` input tokens (and no more than the next tier's start). The factors
 * go in before the rounding; `tier` is for token prices, and for few others.
 */
export function ratesAbove(
  prices: Pick<DatedPrices, 'byKey'>,
  above: number,
  factor: Decimal,
  tier: TierFactor,
  added: readonly AddedRate[] = [],
): Rates {
  const rates: Partial<Record<RateClass, bigint>> = {}
  for (const [key, { rate, per, measure }] of RATE_KEYS) {
    const listed = prices.byKey.get(key)
    if (listed === undefined) continue
    const price = multiply(priceAbove(listed, above), factor)
    rates[rate] = picoPerOne(
      multiply(price, measure === 'tokens' ? tier.of(rate, above) : tier.ofUnit(rate)),
      per,
    )
  }
  for (const { rate, price, replaces } of added) {
    if (rates[rate] !== undefined && replaces !== true) continue
    if ('usd' in price) {
      const usd = multiply(multiply(decimalOfText(price.usd), factor), tier.ofUnit(rate))
      rates[rate] = picoPerOne(usd, price.per)
      continue
    }
    const listed = prices.byKey.get(INPUT_KEYS[price.of] ?? '')
    if (listed === undefined) continue
    const times = multiply(priceAbove(listed, above), decimalOfText(price.times))
    rates[rate] = picoPerOne(multiply(multiply(times, factor), tier.of(price.of, above)), 1_000_000n)
  }
  for (const [rate, { usd, per }] of tier.fees) {
    rates[rate] = picoPerOne(multiply(decimalOfText(usd), factor), per)
  }
  return rates
}

/** The catalog's keys of classes that other rates are so many times of. */
const INPUT_KEYS: Partial<Record<RateClass, string>> = { input: 'input_mtok', output: 'output_mtok' }

function priceAbove({ base, tiers }: CatalogRate, above: number): Decimal {
  return tiers.findLast((tier) => tier.above <= above)?.price ?? base
}

/** Prices in the catalog for what no upstream's answer lets us count, so that calls cost more than we can say. */
export function unmeteredKeys(prices: Pick<DatedPrices, 'byKey'>): string[] {
  return [...prices.byKey.keys()].filter((key) => !RATE_KEYS.has(key))
}

/** A price in the catalog's own words. */
export function rateText({ base, tiers }: CatalogRate): string {
  const above = tiers.map((tier) => `${decimalText(tier.price)} over ${tier.above}`)
  return [decimalText(base), ...above].join(', ')
}
