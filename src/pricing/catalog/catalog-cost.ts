import { scaleToInteger } from '#prices/decimal.ts'
import type { PromptLengths, UsagePart } from '../../call/observation.ts'
import {
  BILLED_UNITS,
  type BilledUnits,
  countsBy,
  NO_UNITS,
  TOKEN_CLASSES,
  TOKEN_FIELDS,
  type TokenUsage,
  UNIT_DIMENSIONS,
} from '../../call/usage.ts'
import { buildPartsPrice, type FixedPrice, type LinearPrice } from '../price.ts'
import { contradiction } from '../price-contradiction.ts'
import { costOf } from '../price-cost.ts'
import type { Factor } from '../price-markups.ts'
import type { RateClass } from '../price-rates.ts'
import type { BesideCost, CallToPrice, Priced, PriceOfCall, Unpriced } from './catalog-call.ts'
import { choosePrice, coversUse } from './catalog-price-set.ts'
import type { PriceAnswer } from './catalog-resolve.ts'

/** A call, or a part of one, that one model served. */
export interface Use
  extends Pick<CallToPrice, 'model' | 'requestedModel' | 'usage' | 'units' | 'largestPrompt'>,
    Pick<UsagePart, 'prompts'> {}

type LinearCost = Priced & { readonly price: LinearPrice }

/**
 * What a use costs at the prices found for its model.
 *
 * @param isCall Where the model has a price, the call is a use by itself.
 */
export function priceUse(
  { found, missing }: Pick<PriceAnswer, 'found' | 'missing'>,
  use: Use,
  isCall: boolean,
): LinearCost | Unpriced {
  const { usage, units } = use
  const model = use.model ?? use.requestedModel
  const isUsed = hasUse(use) || (isCall && found !== null)
  const price = found === null ? null : choosePrice(found.prices, usage, units, isUsed, promptsOf(use))
  // Requests of which some may have been long, and others not.
  if (price === null && found !== null && isUsed)
    return { kind: 'unpriced', reason: 'use_without_price', model }
  if (price === null) {
    const reason = !isUsed ? 'nothing_used' : model === null ? 'no_model' : (missing ?? 'no_price')
    return { kind: 'unpriced', reason, model }
  }
  const isBeside = price.definition.variant === 'reasoning-beside'
  if (contradiction(price.terms, usage, units, isBeside) !== null) {
    return { kind: 'unpriced', reason: 'contradictory_usage', model }
  }
  if (isUsed && !coversUse(price, usage, units)) {
    return { kind: 'unpriced', reason: 'use_without_price', model }
  }
  const costPico = costOf(price, usage, units)
  // Parts that overlap without saying so (cached audio) can take off more than there is: a credit is never right.
  if (costPico < 0n) return { kind: 'unpriced', reason: 'contradictory_usage', model }
  return { kind: 'priced', costPico, price, priceId: price.id }
}

/** Of several requests, how long their prompts were; `undefined`: it is one. */
function promptsOf({ prompts, largestPrompt, usage }: Use): PromptLengths | undefined {
  if (prompts !== undefined || largestPrompt === undefined) return prompts
  const inputTokens = usage.inputTokens ?? 0
  return { shortest: 0, longest: Math.min(inputTokens, largestPrompt ?? inputTokens) }
}

/** The upstream's own figure, times the markups, halves of a pico-dollar rounded up. */
export function takeReported(price: FixedPrice, factor: Factor, reportedPico: bigint): Priced {
  const costPico = scaleToInteger(factor.value, reportedPico, 1n)
  return { kind: 'priced', costPico, price, priceId: price.id }
}

/** A part of a call, and what it costs. */
export interface PartCost {
  readonly part: UsagePart
  readonly cost: LinearCost | Unpriced
}

/** Of what it may cost: one that has a price before one that has none. */
export function dearestOf(costs: readonly PartCost['cost'][]): PartCost['cost'] {
  return costs.reduce((dearest, cost) => (picoOf(cost) > picoOf(dearest) ? cost : dearest))
}

function picoOf(cost: PartCost['cost']): bigint {
  return cost.kind === 'priced' ? cost.costPico : -1n
}

/**
 * A call served by several models. Where one price serves all its parts, that is the call's price; else the cost
 * stands under a price that names the others. One part without a price leaves the whole call without, under a name that
 * keeps it from being priced later as if one model had served it; one beside a session's own model is a gap, as is what
 * could not be read. `rest`: units that belong to no part; without a price they are a gap.
 */
export function addUp(parts: readonly PartCost[], rest: PartCost | null, call: CallToPrice): PriceOfCall {
  const beside = parts.flatMap(besideCostOf)
  const sum = sumOf(parts, rest, call)
  return beside.length === 0 ? sum : { ...sum, beside }
}

function besideCostOf({ part: { model, isBeside, isUnread }, cost }: PartCost): readonly BesideCost[] {
  if (isBeside !== true || model === null) return []
  const costPico = cost.kind === 'priced' ? cost.costPico : 0n
  const lacksPrice =
    isUnread === true ||
    (cost.kind === 'priced' ? cost.price.definition.unpriced !== undefined : cost.reason !== 'nothing_used')
  if (lacksPrice) return [{ model, costPico, lacksPrice }]
  return costPico > 0n ? [{ model, costPico }] : []
}

function sumOf(parts: readonly PartCost[], rest: PartCost | null, call: CallToPrice): PriceOfCall {
  const priced: LinearCost[] = []
  const gaps = new Set<RateClass>()
  let missing: Unpriced | null = null
  let beside: Unpriced | null = null
  for (const { part, cost } of parts) {
    if (part.isUnread === true) for (const rate of UNREAD) gaps.add(rate)
    else if (cost.kind === 'priced') priced.push(cost)
    else if (cost.reason !== 'nothing_used' && part.isBeside === true) {
      beside ??= cost
      for (const rate of ratesOf(part)) gaps.add(rate)
    } else if (cost.reason !== 'nothing_used') missing ??= cost
  }
  if (rest?.cost.kind === 'priced') priced.push(rest.cost)
  else if (rest !== null) {
    if (rest.cost.reason === 'contradictory_usage' || priced.length === 0) missing ??= rest.cost
    for (const rate of ratesOf(rest.part)) gaps.add(rate)
  }
  const prices = priced.map(({ priceId }) => priceId)
  const [first, ...others] = priced
  if (missing !== null || first === undefined) {
    return { ...(missing ?? beside ?? NOTHING_USED), tier: buildPartsPrice({ basis: 'parts', prices }) }
  }
  const costPico = priced.reduce((sum, part) => sum + part.costPico, 0n)
  const isOnePrice = gaps.size === 0 && others.every(({ priceId }) => priceId === first.priceId)
  if (isOnePrice && costOf(first.price, call.usage, call.units) === costPico) return { ...first, costPico }
  for (const { price } of priced) for (const rate of price.definition.unpriced ?? []) gaps.add(rate)
  const unpriced = gaps.size === 0 ? {} : { unpriced: [...gaps].sort() }
  const price = buildPartsPrice({ basis: 'parts', prices, ...unpriced })
  return { kind: 'priced', costPico, price, priceId: price.id }
}

/** What is not known of a message that could not be read. */
const UNREAD: readonly RateClass[] = ['input', 'output']

/** The units of a call that are in none of its parts. */
export function restOfUnits(units: BilledUnits, parts: readonly UsagePart[]): BilledUnits {
  if (parts.every((part) => part.units === undefined)) return units
  return countsBy(BILLED_UNITS, (name) => {
    const inParts = parts.reduce((sum, part) => sum + (part.units?.[name] ?? 0), 0)
    const whole = units[name]
    return whole === null || whole <= inParts ? null : whole - inParts
  })
}

const NOTHING_USED: Unpriced = { kind: 'unpriced', reason: 'nothing_used', model: null }

/** The classes of rates that a use would be priced by. */
function ratesOf({ usage, units = NO_UNITS }: UsagePart): RateClass[] {
  return [
    ...TOKEN_FIELDS.filter(({ name }) => (usage[name] ?? 0) > 0).map(({ rate }) => rate),
    ...UNIT_DIMENSIONS.filter(({ name }) => (units[name] ?? 0) > 0).map(({ rate }) => rate),
  ]
}

/** Whether anything was counted. */
export function hasUse({ usage, units }: { usage: TokenUsage; units: BilledUnits }): boolean {
  if ((usage.inputTokens ?? 0) > 0 || (usage.outputTokens ?? 0) > 0) return true
  return (
    TOKEN_CLASSES.some((name) => (usage[name] ?? 0) > 0) ||
    BILLED_UNITS.some((name) => (units[name] ?? 0) > 0)
  )
}
