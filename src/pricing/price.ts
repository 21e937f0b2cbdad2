import { createHash } from 'node:crypto'
import { buildCostTerms, type CostTerms } from './price-cost.ts'
import type {
  LinearDefinition,
  PartsDefinition,
  PriceDefinition,
  ReportedDefinition,
  UnpricedDefinition,
} from './price-definition.ts'
import { linearTerms, RATE_CLASSES } from './price-rates.ts'

interface Identified<Definition> {
  /**
   * Names the definition: the same definition has the same id in every process and release, another definition
   * another one. At most 128 bytes, e.g. `openai/gpt-4o@2025-01-01#std.1f3a9c2b7d5e`.
   */
  readonly id: string
  readonly definition: Definition
  /** The definition in canonical JSON; `parsePrice` reads it back. */
  readonly json: string
}

export interface LinearPrice extends Identified<LinearDefinition> {
  /** The definition, made ready for `costOf`. */
  readonly terms: CostTerms
}

/** Prices that say where a cost came from, but not how to compute it again from counts. */
export type FixedPrice = Identified<ReportedDefinition | PartsDefinition | UnpricedDefinition>

export type Price = LinearPrice | FixedPrice

/** Whether the cost of calls at `price` leaves something out that they used. */
export function isPartly({ definition }: Price): boolean {
  const { basis } = definition
  return (basis === 'linear' || basis === 'parts') && definition.unpriced !== undefined
}

/** Whether the cost of calls at `price` can be computed from their counts. */
export function isLinear(price: Price): price is LinearPrice {
  return price.definition.basis === 'linear'
}

export function buildLinearPrice(definition: LinearDefinition): LinearPrice {
  const terms = buildCostTerms(linearTerms(definition.rates, definition.variant === 'reasoning-beside'))
  return { ...identify(definition, linearLabel(definition)), terms }
}

export function buildReportedPrice(definition: ReportedDefinition): FixedPrice {
  return identify(definition, `${definition.provider}/reported`)
}

/** `definition.prices` in any order. */
export function buildPartsPrice(definition: PartsDefinition): FixedPrice {
  const prices = [...new Set(definition.prices)].sort()
  return identify({ ...definition, prices }, definition.unpriced === undefined ? 'parts' : 'parts+partly')
}

export function buildUnpricedTier(serviceTier: string): FixedPrice {
  return identify({ basis: 'unpriced', serviceTier }, `unpriced#${serviceTier}`)
}

const HASH_DIGITS = 12
const MAX_ID_BYTES = 128

function identify<Definition extends PriceDefinition>(
  definition: Definition,
  label: string,
): Identified<Definition> {
  const json = canonicalJson(definition)
  const hash = createHash('sha256').update(json).digest('hex').slice(0, HASH_DIGITS)
  const readable = label.replace(/[^A-Za-z0-9._:@~#/?<>*+-]/g, '_').slice(0, MAX_ID_BYTES - HASH_DIGITS - 1)
  return { id: `${readable}.${hash}`, definition, json }
}

const MAX_LABEL_MODEL_LENGTH = 64

function linearLabel(definition: LinearDefinition): string {
  const { provider, model, from, context, hours, serviceTier, variant } = definition
  const day = from === null ? '' : `@${from}`
  const tier =
    serviceTier === null ? 'std' : `${serviceTier}${definition.serviceTierPriced ? '' : '?standard'}`
  const size = context === null ? '' : context.above > 0 ? `>${context.above}` : `<${context.upTo}`
  const time = hours === null ? '' : `+${hours}`
  const use = variant === null ? '' : `+${variant}`
  const gaps = definition.unpriced === undefined ? '' : '+partly'
  return `${provider}/${model.slice(0, MAX_LABEL_MODEL_LENGTH)}${day}#${tier}${size}${time}${use}${gaps}`
}

/** Fixed key order, rates in the order of `RATE_CLASSES` as decimal text, nothing that is not there. */
function canonicalJson(definition: PriceDefinition): string {
  switch (definition.basis) {
    case 'linear': {
      const { rates } = definition
      return JSON.stringify({
        basis: definition.basis,
        source: definition.source,
        provider: definition.provider,
        model: definition.model,
        from: definition.from,
        context:
          definition.context === null
            ? null
            : { above: definition.context.above, upTo: definition.context.upTo },
        hours: definition.hours,
        serviceTier: definition.serviceTier,
        serviceTierPriced: definition.serviceTierPriced,
        factor: definition.factor,
        variant: definition.variant,
        rates: Object.fromEntries(
          RATE_CLASSES.flatMap((name) => (rates[name] === undefined ? [] : [[name, String(rates[name])]])),
        ),
        // Absent where there are none: the ids of prices from before there were any stay the same.
        unpriced: definition.unpriced,
      })
    }
    case 'reported':
      return JSON.stringify({
        basis: definition.basis,
        provider: definition.provider,
        factor: definition.factor,
      })
    case 'parts':
      return JSON.stringify({
        basis: definition.basis,
        prices: definition.prices,
        unpriced: definition.unpriced,
      })
    case 'unpriced':
      return JSON.stringify({ basis: definition.basis, serviceTier: definition.serviceTier })
    default: {
      const unknown: never = definition
      throw new TypeError(`no such price: ${JSON.stringify(unknown)}`)
    }
  }
}
