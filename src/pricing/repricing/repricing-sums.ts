import { BILLED_UNITS, type BilledUnits, countsBy, TOKEN_CLASSES, type TokenUsage } from '../../call/usage.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import type { Catalog } from '../catalog/catalog.ts'
import { coversUse, type PriceSet, priceWithGaps, type TierPrices } from '../catalog/catalog-price-set.ts'
import type { LinearPrice, Price } from '../price.ts'
import { contradiction } from '../price-contradiction.ts'
import { costOfSums, type UsageSums } from '../price-cost.ts'
import type { LinearDefinition } from '../price-definition.ts'
import { unpricedParts } from '../price-gaps.ts'
import { isSameList } from './same-list.ts'

/** A row of daily totals, as far as the price of its calls goes. */
export interface PastRow {
  readonly day: UtcDay
  readonly provider: string
  readonly upstream: string
  readonly clientName: string | null
  /** The name its calls are totalled under. */
  readonly model: string
  /** '': unpriced, or nothing to price. */
  readonly priceId: string
  /** Calls without a cost although they may have used something. */
  readonly unpriced: bigint
  /** Of those, calls whose usage cannot be known. */
  readonly invalid: bigint
  /** Of `unpriced`, calls that reported no figures. */
  readonly withoutFigures: bigint
  readonly sums: UsageSums
}

/** What all calls of a row cost by newer prices; as `NewCost`. `pricedCalls`: of those that had no cost. */
export type NewRowCost =
  | { readonly kind: 'as_metered' }
  | { readonly kind: 'unknown_day' }
  | {
      readonly kind: 'cost'
      readonly costPico: bigint
      readonly price: LinearPrice
      readonly pricedCalls: bigint
      /** What the price is of: all calls of the row, or those that may be priced. */
      readonly sums: UsageSums
    }
  | { readonly kind: 'unknown'; readonly reason: string }

const AS_METERED: NewRowCost = { kind: 'as_metered' }

/**
 * Prices a row from its sums alone, for days whose single calls are gone. That is exact where one linear
 * price held for all of its calls, and else refused with the reason.
 *
 * @param oldPrice The price behind `row.priceId`; `null`: not known, or there is none.
 */
export function repriceRow(catalog: Catalog, row: PastRow, oldPrice: Price | null): NewRowCost {
  const old = oldPrice?.definition ?? null
  const isUnpriced = row.priceId === '' || old?.basis === 'unpriced'
  const requests = isUnpriced ? row.unpriced - row.invalid - row.withoutFigures : row.sums.requests
  if (requests <= 0n) return AS_METERED
  if (!isUnpriced) {
    if (old === null) return unknown('the definition of its price is not known')
    if (old.basis === 'reported') return AS_METERED // the upstream's reported cost
    if (old.basis === 'parts')
      return unknown('several models served its calls, and what each used is not kept')
  }
  const linear = old?.basis === 'linear' ? old : null
  const model = nameIt(row.model, linear)
  if (model === null) return unknown('it was priced by a name its calls asked for, which is not kept')

  const serviceTier = old?.basis === 'linear' || old?.basis === 'unpriced' ? old.serviceTier : null
  const known = pricesOf(catalog.ofPast(), row, model, linear, serviceTier)
  const isUnknownDay = known === NO_PRICE_THEN
  const prices = isUnknownDay ? pricesOf(catalog, row, model, linear, serviceTier) : known
  if (prices === NO_PRICE && isUnpriced) return AS_METERED
  if (typeof prices === 'string') return unknown(prices)
  const variant = priceOfAll(prices, row, linear)
  if (isUnknownDay && (typeof variant === 'string' || !isSameList(linear, variant.definition))) {
    return { kind: 'unknown_day' }
  }
  if (typeof variant === 'string') return unknown(variant)
  const sums = { ...row.sums, requests }
  const { usage, units } = asOneCall(sums)
  const gaps = unpricedParts(variant.definition.rates, prices.billingRules, usage, units)
  const price = priceWithGaps(variant, prices, isUsed(sums), gaps)
  if (price.id === row.priceId) return AS_METERED

  if (contradiction(price.terms, usage, units, price.definition.variant === 'reasoning-beside') !== null) {
    return unknown('its counts contradict each other by the price now')
  }
  if (isUsed(sums) && !coversUse(price, usage, units)) {
    return isUnpriced ? AS_METERED : unknown('its price now has none for what was used')
  }
  const pricedCalls = isUnpriced ? requests : 0n
  return { kind: 'cost', costPico: costOfSums(price, sums), price, pricedCalls, sums }
}

const NO_PRICE = 'it has no price now'
const NO_PRICE_THEN = 'no price is known for its day'

function unknown(reason: string): NewRowCost {
  return { kind: 'unknown', reason }
}

/** The name to look a price up by: an entry of the operator's may have been for the one the calls asked for. */
function nameIt(model: string, old: LinearDefinition | null): string | null {
  if (old === null || old.source !== 'yaml') return model
  if (!old.model.endsWith('*')) return old.model
  return model.startsWith(old.model.slice(0, -1)) ? model : null
}

/** The prices of the part of the day in which all of the row's calls arrived, or why they are unknown. */
function pricesOf(
  catalog: Catalog,
  row: PastRow,
  model: string,
  old: LinearDefinition | null,
  serviceTier: string | null,
): PriceSet | string {
  const answers = catalog.findPricesOfDay({
    provider: row.provider,
    upstream: row.upstream,
    clientName: row.clientName,
    model,
    serviceTier,
    atMs: Date.parse(`${row.day}T00:00:00Z`),
  })
  const parts = new Map<string, PriceSet>()
  for (const { found, missing } of answers) {
    if (found === null) return missing === 'unknown_day' ? NO_PRICE_THEN : NO_PRICE
    const [tier] = found.prices.tiers
    if (tier !== undefined) parts.set(tier.usual.id, found.prices)
  }
  const [first, ...others] = parts.values()
  if (first === undefined) return NO_PRICE
  if (others.length === 0) return first
  const same = [first, ...others].find(({ tiers }) => tiers.some((tier) => isSameHours(tier, old)))
  return same ?? 'its price changes with the hour, and the hours of its calls are not kept'
}

/** `other` hours are those that the same data does not name. */
function isSameHours({ usual: { definition } }: TierPrices, old: LinearDefinition | null): boolean {
  if (old === null || old.hours === null || definition.hours !== old.hours) return false
  return old.hours !== 'other' || definition.source === old.source
}

/** The one price that all of the row's calls have, or why it is unknown. */
function priceOfAll(
  { tiers, billingRules }: PriceSet,
  row: PastRow,
  old: LinearDefinition | null,
): LinearPrice | string {
  const tier = tierOfAll(tiers, row.sums.inputTokens, old)
  if (tier === null) return 'its price depends on the size of prompts, and those of its calls are not kept'
  const { usual, unused, reasoningBeside, shortAudio, cacheNotBelieved } = tier
  if (old?.variant === 'cache-not-believed') return cacheNotBelieved
  // Single calls may: of those that do not, a sum says nothing.
  if (row.sums.cacheReadTokens + row.sums.cacheWriteTokens > row.sums.inputTokens) {
    return 'its calls count more cached than input tokens, and single calls are not kept'
  }
  if (!isUsed(row.sums)) return unused
  if (unused !== usual && old?.variant === 'no-request-fee') return unused
  if (unused !== usual && (old === null || (old.rates.request ?? 0n) === 0n)) {
    return 'it has a fee for requests that use something, and how many did is not kept'
  }
  if (reasoningBeside !== usual && row.sums.reasoningTokens > 0n) {
    if (old?.variant === 'reasoning-beside' || billingRules.reasoningIsBeside) return reasoningBeside
    const wasInOutput = old !== null && old.rates.reasoning !== undefined && old.variant === null
    if (!wasInOutput) return 'its price of reasoning depends on the call, and single calls are not kept'
  }
  if (shortAudio !== usual && row.sums.audioMs > 0n) {
    if (old?.variant === 'minimum-audio') return shortAudio
    return 'a least length of audio is billed, and the lengths of its calls are not kept'
  }
  return usual
}

function tierOfAll(
  tiers: readonly TierPrices[],
  inputTokens: bigint,
  old: LinearDefinition | null,
): TierPrices | null {
  const [first, second] = tiers
  if (first === undefined) return null
  // A sum within the first tier means that each of its parts is.
  if (second === undefined || inputTokens <= BigInt(second.above)) return first
  const known = old?.context ?? null
  if (known === null) return null
  const upTo = known.upTo ?? Number.POSITIVE_INFINITY
  const index = tiers.findLastIndex(({ above }) => above <= known.above)
  const end = tiers[index + 1]?.above ?? Number.POSITIVE_INFINITY
  return upTo <= end ? (tiers[index] ?? null) : null
}

function isUsed(sums: UsageSums): boolean {
  return TOKEN_CLASSES.some((name) => sums[name] > 0n) || BILLED_UNITS.some((name) => sums[name] > 0n)
}

function asOneCall(sums: UsageSums): { readonly usage: TokenUsage; readonly units: BilledUnits } {
  return {
    usage: countsBy(TOKEN_CLASSES, (name) => Number(sums[name])),
    units: countsBy(BILLED_UNITS, (name) => Number(sums[name])),
  }
}
