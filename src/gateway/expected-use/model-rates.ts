import { type BilledUnit, NO_UNITS, NO_USAGE, type TokenUsage, UNIT_DIMENSIONS } from '../../call/usage.ts'
import { WHOLE_BYTES } from '../../lib/sliced-work.ts'
import type { Catalog } from '../../pricing/catalog/catalog.ts'
import type { LinearPrice } from '../../pricing/price.ts'
import type { Rates } from '../../pricing/price-rates.ts'

/** Prices may change by the hour, and for a new release of the catalog the whole catalog is another one. */
const KEPT_MS = 60_000
/** Names of models are input, so there must be an end. */
const MAX_KEPT = 5_000

/** The most that one of each costs in a prompt of more than `above` tokens: pico-USD, in doubles as estimates are. */
export interface RatesOfTier {
  readonly above: number
  readonly request: number
  /** A token of text in the prompt, also where it is written to the cache. */
  readonly input: number
  /** Of a picture, of sound or of a film in the prompt. */
  readonly media: number
  /** Of the answer, whatever it is of. */
  readonly output: number
  /** Of what is billed by another measure, where that costs anything. */
  readonly units: readonly { readonly name: BilledUnit; readonly each: number }[]
}

/** What calls of one model cost a client at an upstream, now. */
export interface ModelRates {
  /** By rising `above`; empty: no price is known. */
  readonly tiers: readonly RatesOfTier[]
  /** The same where the prompt is written to a cache for hours; absent: that costs no more. */
  readonly longCached?: readonly RatesOfTier[] | undefined
  /** Whether calls get a cost: they have a price, or the upstream says the cost and is believed. */
  readonly isPriced: boolean
  /** The most that a picture in the prompt comes to. */
  readonly tokensPerImage: number
  /** What the server puts around a prompt by itself. */
  readonly tokensAround: number
  /** Milliseconds since 1970. */
  readonly untilMs: number
}

/** Which prices: all that decides them before the call. */
export interface RatesQuery {
  readonly provider: string
  readonly upstream: string
  readonly clientId: string
  readonly clientName: string
  readonly model: string
  /** As the request asks for it; `null`: it does not. */
  readonly serviceTier: string | null
}

/** Prices as estimates need them, asked of the catalog once a minute for each client and model. */
export class KnownRates {
  readonly #catalog: () => Catalog
  #of: Catalog
  #young = new Map<string, ModelRates>()
  #old = new Map<string, ModelRates>()

  /** @param catalog the one that prices calls now: another object after prices were loaded again. */
  constructor(catalog: () => Catalog) {
    this.#catalog = catalog
    this.#of = catalog()
  }

  find(query: RatesQuery, nowMs: number): ModelRates {
    const catalog = this.#catalog()
    if (catalog !== this.#of) {
      this.#of = catalog
      this.#young = new Map()
      this.#old = new Map()
    }
    const key = `${query.clientId}\n${query.upstream}\n${query.model}\n${query.serviceTier}`
    const known = this.#young.get(key) ?? this.#old.get(key)
    if (known !== undefined && nowMs < known.untilMs) return known
    const rates = askCatalog(catalog, query, nowMs)
    if (this.#young.size >= MAX_KEPT) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, rates)
    return rates
  }
}

function askCatalog(catalog: Catalog, query: RatesQuery, nowMs: number): ModelRates {
  const { provider, upstream, clientName, model, serviceTier } = query
  const priced = { provider, upstream, clientName, model, atMs: nowMs }
  // An unknown tier is the server's to refuse or to pass over; the answer says which one it was.
  const found =
    catalog.findPrices({ ...priced, serviceTier }) ?? catalog.findPrices({ ...priced, serviceTier: null })
  const prices = found?.prices.tiers ?? []
  const tiers = prices.map(({ above, usual }) => ratesOfTier(above, usual))
  return {
    tiers,
    longCached: longCachedTiers(
      tiers,
      prices.map(({ usual }) => longestWrite(usual)),
    ),
    isPriced: found !== null || catalog.priceCall(reportedCall(query, nowMs)).kind === 'priced',
    tokensPerImage: imageTokens(model),
    tokensAround: tokensAround(model),
    untilMs: nowMs + KEPT_MS,
  }
}

/** A call that names a cost is priced without a price where its upstream is believed. */
function reportedCall({ provider, upstream, clientName, model }: RatesQuery, nowMs: number) {
  const usage: TokenUsage = { ...NO_USAGE, inputTokens: 1 }
  return {
    provider,
    upstream,
    clientName,
    model,
    requestedModel: model,
    usage,
    units: NO_UNITS,
    serviceTier: null,
    arrivedAtMs: nowMs,
    reportedCostPico: 1n,
    parts: null,
  }
}

function ratesOfTier(above: number, { definition: { rates } }: LinearPrice): RatesOfTier {
  const input = largest(rates, 'input', 'cacheWrite')
  return {
    above,
    request: largest(rates, 'request'),
    input,
    media: Math.max(input, largest(rates, 'audioInput', 'imageInput', 'videoInput')),
    output: largest(rates, 'output', 'reasoning', 'audioOutput', 'imageOutput'),
    units: UNIT_DIMENSIONS.flatMap(({ name, rate }) => {
      const each = largest(rates, rate)
      return each === 0 ? [] : [{ name, each }]
    }),
  }
}

function longestWrite({ definition: { rates } }: LinearPrice): number {
  return largest(rates, 'cacheWrite1h', 'cacheWrite12h')
}

function longCachedTiers(tiers: readonly RatesOfTier[], writes: readonly number[]): ModelRates['longCached'] {
  const longCached = tiers.map((tier, at) => {
    const write = writes[at] ?? 0
    return { ...tier, input: Math.max(tier.input, write), media: Math.max(tier.media, write) }
  })
  return longCached.some(({ input }, at) => input > (tiers[at]?.input ?? 0)) ? longCached : undefined
}

/** How requests end the time for which a prompt is kept: `1h`, `12h`. */
const HOURS = ['1h"', '2h"'] as const
/** How JSON may write their characters instead. No client library does. */
const ESCAPED = ['\\u0031', '\\u0032', '\\u0068'] as const

/**
 * The rates of a call that may have its prompt kept for hours: where it asks for that may stand anywhere in it.
 *
 * @param body `null`: it is not read.
 */
export function ratesWithCaching(rates: ModelRates, body: Buffer | null): ModelRates {
  if (rates.longCached === undefined || (body !== null && !mayAskForHours(body))) return rates
  return { ...rates, tiers: rates.longCached }
}

/** A long body is not searched: that would hold up other calls. */
function mayAskForHours(body: Buffer): boolean {
  if (body.length > WHOLE_BYTES) return true
  const has = (text: string) => body.includes(text, 0, 'latin1')
  return HOURS.some(has) || (has('\\u00') && ESCAPED.some(has))
}

function largest(rates: Rates, ...names: readonly (keyof Rates)[]): number {
  return names.reduce((most, name) => Math.max(most, Number(rates[name] ?? 0n)), 0)
}

/**
 * The most that one picture comes to at high detail. GPT-4o mini counts it 33 times. Sources: the makers' pages on
 * vision: OpenAI's at most 1,445, Anthropic's 4,784, Gemini's 2,240.
 */
function imageTokens(model: string): number {
  if (/4o-mini/i.test(model)) return 50_000
  if (/gemini/i.test(model)) return 2_300
  return /gpt|chatgpt|(?:^|\/)o\d/i.test(model) ? 1_500 : 5_000
}

/** xAI puts a prompt of its own before every conversation, OpenAI's open models a system message. */
function tokensAround(model: string): number {
  return /grok/i.test(model) ? 400 : /gpt-oss/i.test(model) ? 120 : 0
}
