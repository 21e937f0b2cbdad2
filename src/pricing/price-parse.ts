import { isObject, type JsonObject, parsedJson } from '../domain/json.ts'
import {
  buildLinearPrice,
  buildPartsPrice,
  buildReportedPrice,
  buildUnpricedTier,
  type Price,
} from './price.ts'
import { type ContextTier, PRICE_VARIANTS } from './price-definition.ts'
import { RATE_CLASSES, type RateClass, type Rates } from './price-rates.ts'

/**
 * Reads a price back from the JSON that `Price.json` gave. The id is computed from what was read, so it is
 * the same as before if the text is. `null` when the text is not a price.
 */
export function parsePrice(json: string): Price | null {
  const fields = parsedJson(json)
  if (!isObject(fields)) return null
  switch (fields.basis) {
    case 'linear':
      return parseLinear(fields)
    case 'reported': {
      const { provider, factor } = fields
      if (typeof provider !== 'string' || typeof factor !== 'string') return null
      return buildReportedPrice({ basis: 'reported', provider, factor })
    }
    case 'parts': {
      const { prices } = fields
      if (!Array.isArray(prices) || !prices.every((id) => typeof id === 'string')) return null
      const unpriced = parseGaps(fields.unpriced)
      if (unpriced === undefined) return null
      return buildPartsPrice({ basis: 'parts', prices, ...(unpriced === null ? {} : { unpriced }) })
    }
    case 'unpriced': {
      const { serviceTier } = fields
      return typeof serviceTier === 'string' ? buildUnpricedTier(serviceTier) : null
    }
    default:
      return null
  }
}

function parseLinear(fields: JsonObject): Price | null {
  const { source, provider, model, from, hours, serviceTier, serviceTierPriced, factor } = fields
  const context = parseContext(fields.context)
  const variant = fields.variant === null ? null : PRICE_VARIANTS.find((name) => name === fields.variant)
  const rates = parseRates(fields.rates)
  if (typeof source !== 'string' || typeof provider !== 'string' || typeof model !== 'string') return null
  if (!isTextOrNull(from) || !isTextOrNull(hours) || !isTextOrNull(serviceTier)) return null
  if (typeof serviceTierPriced !== 'boolean') return null
  const unpriced = parseGaps(fields.unpriced)
  if (unpriced === undefined) return null
  if (typeof factor !== 'string' || context === undefined || variant === undefined || rates === null)
    return null
  return buildLinearPrice({
    basis: 'linear',
    source,
    provider,
    model,
    from,
    context,
    hours,
    serviceTier,
    serviceTierPriced,
    factor,
    variant,
    rates,
    ...(unpriced === null ? {} : { unpriced }),
  })
}

/** `undefined`: no list of classes. */
function parseGaps(value: unknown): readonly RateClass[] | null | undefined {
  if (value === undefined) return null
  if (!Array.isArray(value) || value.length === 0) return undefined
  const known = value.flatMap((name) => RATE_CLASSES.filter((candidate) => candidate === name))
  return known.length === value.length ? known : undefined
}

function isTextOrNull(value: unknown): value is string | null {
  return value === null || typeof value === 'string'
}

/** `undefined`: not a context tier. */
function parseContext(value: unknown): ContextTier | null | undefined {
  if (value === null) return null
  if (!isObject(value)) return undefined
  const { above, upTo } = value
  if (typeof above !== 'number' || !Number.isSafeInteger(above)) return undefined
  if (upTo !== null && (typeof upTo !== 'number' || !Number.isSafeInteger(upTo))) return undefined
  return { above, upTo }
}

function parseRates(value: unknown): Rates | null {
  if (!isObject(value)) return null
  const rates: Partial<Record<RateClass, bigint>> = {}
  for (const [name, text] of Object.entries(value)) {
    const known = RATE_CLASSES.find((candidate) => candidate === name)
    if (known === undefined || typeof text !== 'string' || !/^[0-9]{1,40}$/.test(text)) return null
    rates[known] = BigInt(text)
  }
  return rates
}
