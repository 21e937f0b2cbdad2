import { type Decimal, multiply } from '#prices/decimal.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { picoPerOne } from '../catalog/catalog-rates.ts'
import type { RateClass, Rates } from '../price-rates.ts'
import { OVERRIDE_FIELDS, type PriceOverride } from './price-overrides.ts'

/** The calls an override is looked for. */
export interface OverrideQuery {
  readonly provider: string
  readonly upstream: string
  readonly model: string
  /** Any of these; `null`: standard. */
  readonly serviceTiers: readonly (string | null)[]
  readonly day: UtcDay
}

/**
 * Puts the entries in the order in which they win: an exact name before a prefix, a longer prefix before a shorter
 * one; of the same name the one for an upstream, then for a provider, then for a service tier; then the later day.
 */
export function byPrecedence(overrides: readonly PriceOverride[]): readonly PriceOverride[] {
  return overrides.toSorted(
    (a, b) =>
      nameWeight(b) - nameWeight(a) ||
      Number(b.upstream !== null) - Number(a.upstream !== null) ||
      Number(b.provider !== null) - Number(a.provider !== null) ||
      Number(b.serviceTier !== null) - Number(a.serviceTier !== null) ||
      (b.from ?? '').localeCompare(a.from ?? ''),
  )
}

function nameWeight({ pattern }: PriceOverride): number {
  return pattern.kind === 'exact' ? Number.MAX_SAFE_INTEGER : pattern.prefix.length
}

/** The entry that prices these calls, of entries in the order of {@link byPrecedence}. */
export function findOverride(sorted: readonly PriceOverride[], query: OverrideQuery): PriceOverride | null {
  const found = sorted.find(
    ({ pattern, provider, upstream, serviceTier, from }) =>
      (pattern.kind === 'exact' ? query.model === pattern.name : query.model.startsWith(pattern.prefix)) &&
      (upstream === null || upstream === query.upstream) &&
      (provider === null || provider === query.provider) &&
      (serviceTier === null || query.serviceTiers.includes(serviceTier)) &&
      (from === null || from <= query.day),
  )
  return found ?? null
}

/** The entry's rates in integer pico-USD, the factor in before the rounding. */
export function overrideRates({ prices }: PriceOverride, factor: Decimal): Rates {
  const rates: Partial<Record<RateClass, bigint>> = {}
  for (const { field, rate, per } of OVERRIDE_FIELDS) {
    const price = prices.get(field)
    if (price !== undefined) rates[rate] = picoPerOne(multiply(price, factor), per)
  }
  return rates
}
