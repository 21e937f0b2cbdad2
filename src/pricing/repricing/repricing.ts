import { reportedNoFigures } from '../../call/unpriced-reason.ts'
import {
  BILLED_UNITS,
  type BilledUnits,
  countsBy,
  TOKEN_CLASSES,
  type TokenUsage,
  type UsageSource,
} from '../../call/usage.ts'
import { isObject, parsedJson } from '../../domain/json.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CallToPrice } from '../catalog/catalog-call.ts'
import type { Price } from '../price.ts'
import { isSameList } from './same-list.ts'

/** What is known of a call after the fact, as far as its price goes. */
export interface PastCall {
  readonly provider: string
  readonly upstream: string
  /** `null`: no longer known, so no markup of the client's applies. */
  readonly clientName: string | null
  readonly reportedModel: string | null
  readonly requestedModel: string | null
  readonly usageSource: UsageSource
  readonly usage: TokenUsage
  readonly units: BilledUnits
  readonly usageRaw: string | null
  readonly arrivedAtMs: number
  /** It may be the sum over the requests of a job. */
  readonly isSettlement?: boolean | undefined
  /** As metered; `null`: unpriced. */
  readonly costPico: bigint | null
  /** Why it is unpriced, where its record says so. */
  readonly unpricedReason?: string | null | undefined
  readonly priceId: string | null
}

/**
 * What a call costs by newer prices.
 * `as_metered`: as before. `unknown_day`: as before too, as no price is known for its day. `cost`: this; `wasUnpriced`
 * where it had none. `unknown`: it had a cost, and the newer prices cannot tell one.
 */
export type NewCost =
  | { readonly kind: 'as_metered' }
  | { readonly kind: 'unknown_day' }
  | {
      readonly kind: 'cost'
      readonly costPico: bigint
      readonly price: Price
      readonly wasUnpriced: boolean
    }
  | { readonly kind: 'unknown'; readonly reason: string }

const AS_METERED: NewCost = { kind: 'as_metered' }

/**
 * Prices a past call again. The tier it was served at is that of its old price; of a call that had none, the one
 * that its usage names (Anthropic), else the standard one.
 *
 * @param oldPrice The price behind `call.priceId`; `null`: not known, or there is none.
 */
export function repriceCall(catalog: Catalog, call: PastCall, oldPrice: Price | null): NewCost {
  const { costPico: oldCost, priceId } = call
  if (oldCost !== null && oldCost < 0n) return repriceTakenBack(catalog, call, oldCost, oldPrice)
  const wasUnpriced = oldCost === null
  if (!wasUnpriced && priceId === null) return AS_METERED // it used nothing
  if (wasUnpriced && call.usageSource === 'invalid') return AS_METERED // what it used is not known
  if (wasUnpriced && reportedNoFigures(call.unpricedReason)) return AS_METERED // nor here
  if (!wasUnpriced) {
    if (oldPrice === null) return { kind: 'unknown', reason: 'the definition of its price is not known' }
    if (oldPrice.definition.basis === 'reported') return AS_METERED // the upstream's reported cost
  }
  if (oldPrice?.definition.basis === 'parts') {
    return { kind: 'unknown', reason: 'several models served a call, and what each used is not kept' }
  }
  const old = oldPrice?.definition
  const asked = askedAgain(call, oldPrice)
  const known = catalog.ofPast().priceCall(asked)
  const now = known.kind === 'unpriced' && known.reason === 'unknown_day' ? catalog.priceCall(asked) : null
  const isProven = now?.kind === 'priced' && isSameList(old ?? null, now.price.definition)
  // What has no price now either has none for its own reason.
  const priced = now !== null && (isProven || now.kind === 'unpriced') ? now : known
  if (priced.kind === 'priced') {
    if (priced.priceId === priceId) return AS_METERED
    return { kind: 'cost', costPico: priced.costPico, price: priced.price, wasUnpriced }
  }
  if (priced.reason === 'unknown_day') return { kind: 'unknown_day' }
  return wasUnpriced ? AS_METERED : { kind: 'unknown', reason: UNPRICED_NOW[priced.reason] }
}

/** A past call as prices are asked about it, at the tier that `repriceCall` says. */
export function askedAgain(call: PastCall, oldPrice: Price | null): CallToPrice {
  const old = oldPrice?.definition
  const serviceTier =
    old?.basis === 'linear' || old?.basis === 'unpriced' ? old.serviceTier : tierInUsage(call.usageRaw)
  return {
    provider: call.provider,
    upstream: call.upstream,
    clientName: call.clientName,
    model: call.reportedModel,
    requestedModel: call.requestedModel,
    usage: call.usage,
    units: call.units,
    serviceTier,
    arrivedAtMs: call.arrivedAtMs,
    reportedCostPico: null,
    parts: null,
    largestPrompt: call.isSettlement === true ? largestPromptOf(old ?? null) : undefined,
  }
}

/** What takes an estimate back costs as much as that, below 0. */
function repriceTakenBack(
  catalog: Catalog,
  call: PastCall,
  costPico: bigint,
  oldPrice: Price | null,
): NewCost {
  const cost = repriceCall(catalog, negatedCall(call, costPico), oldPrice)
  return cost.kind === 'cost' ? { ...cost, costPico: -cost.costPico } : cost
}

/** The estimate that a call takes back. */
export function negatedCall(call: PastCall, costPico: bigint): PastCall {
  const usage = countsBy(TOKEN_CLASSES, (name) => negated(call.usage[name]))
  const units = countsBy(BILLED_UNITS, (name) => negated(call.units[name]))
  return { ...call, usage, units, costPico: -costPico }
}

function negated(count: number | null): number | null {
  return count === null ? null : -count
}

/** Of what a job used, by the price it had: above the first tier only single requests have one. */
function largestPromptOf(old: Price['definition'] | null): number | null | undefined {
  if (old?.basis !== 'linear' || old.context === null) return null
  return old.context.above === 0 ? old.context.upTo : undefined
}

/** Why a call that had a cost has none by other prices. */
export const UNPRICED_NOW = {
  no_model: 'a call names no model',
  no_price: 'it has no price now',
  unknown_tier: 'it has no price now at the service tier of a call',
  use_without_price: 'its price now has none for what was used',
  contradictory_usage: 'its counts contradict each other by the price now',
  nothing_used: 'it has no price now',
} as const

function tierInUsage(usageRaw: string | null): string | null {
  if (usageRaw === null || !usageRaw.includes('"service_tier"')) return null
  const usage = parsedJson(usageRaw)
  return isObject(usage) && typeof usage.service_tier === 'string' ? usage.service_tier : null
}
