import type { OpenCall } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import { BILLED_UNITS, type BilledUnits, type TokenUsage, type UsageSource } from '../../call/usage.ts'
import type { CallToPrice } from '../../pricing/catalog/catalog-call.ts'
import { placeInPath } from '../../pricing/places/upstream-places.ts'
import type { CallResult } from './call-result.ts'
import { NOTHING_TO_PRICE, type PricedCall, type Pricing } from './pricing.ts'

/** Impossible counts have no cost that could be known: unpriced, not free. */
const INVALID_USAGE: PricedCall = { kind: 'unpriced', reason: 'invalid_usage' }
const NO_READER: PricedCall = { kind: 'unpriced', reason: 'no_reader' }
const NO_FIGURES: PricedCall = { kind: 'unpriced', reason: 'no_figures' }
const PASSES_BY: PricedCall = { kind: 'unpriced', reason: 'passes_by' }
const BILLED_LATER: PricedCall = { kind: 'unpriced', reason: 'billed_later' }

/** The status of a handshake that began a WebSocket session. */
const SWITCHING_PROTOCOLS = 101

/** Clocks of providers differ from ours; and no provider keeps work for longer than this. */
const MAX_AHEAD_MS = 300_000
const MAX_AGE_MS = 90 * 86_400_000

/**
 * When a fetch is priced, in milliseconds since 1970: at the time when the work that it reports was
 * submitted, where the answer gives a plausible one.
 */
function submittedAtMs({ arrivedAtMs }: OpenCall, { madeAtMs = null }: Observation): number {
  if (madeAtMs === null) return arrivedAtMs
  const ageMs = arrivedAtMs - madeAtMs
  return ageMs < -MAX_AHEAD_MS || ageMs > MAX_AGE_MS ? arrivedAtMs : Math.min(madeAtMs, arrivedAtMs)
}

/** What a call costs by its final counts, or why it has no cost. */
export function priceResult(
  result: CallResult,
  observed: Observation,
  usage: TokenUsage,
  usageSource: UsageSource,
  pricing: Pick<Pricing, 'priceCall'>,
): PricedCall {
  if (usageSource === 'invalid') return INVALID_USAGE
  if (usageSource === 'none' && !hasUnits(observed.units)) {
    return priceByReportedCost(result, observed, usage, pricing) ?? priceWithoutFigures(result, observed)
  }
  // The tokens of an answer without those of its prompt, or the reverse: their cost would look like the
  // whole.
  const counted = observed.parts === null ? [usage] : [usage, ...observed.parts.map((part) => part.usage)]
  const isHalf =
    counted.every(({ inputTokens }) => inputTokens === null) ||
    counted.every(({ outputTokens }) => outputTokens === null)
  if (usageSource === 'estimated' && isHalf && observed.hasEstimatedUnits !== true) return NO_FIGURES
  const { call, endpoint } = result
  const atMs = endpoint.responseUse === 'fetched' ? submittedAtMs(call, observed) : call.arrivedAtMs
  return pricing.priceCall(callToPrice(result, observed, usage, atMs))
}

function callToPrice(
  { call, client }: CallResult,
  observed: Observation,
  usage: TokenUsage,
  arrivedAtMs: number,
): CallToPrice {
  return {
    provider: call.provider,
    upstream: call.upstream,
    clientName: client.clientName,
    model: observed.model,
    requestedModel: call.requestedModel,
    usage,
    units: observed.units,
    serviceTier: observed.serviceTier,
    place: placeInPath(call.provider, call.path) ?? undefined,
    arrivedAtMs,
    reportedCostPico: observed.reportedCostPico,
    parts: observed.parts,
    largestPrompt: observed.largestPrompt,
  }
}

/**
 * A call that reported its cost and nothing else (a video of xAI's); `null`: it did not, or is not believed.
 */
function priceByReportedCost(
  result: CallResult,
  observed: Observation,
  usage: TokenUsage,
  pricing: Pick<Pricing, 'priceCall'>,
): PricedCall | null {
  if (observed.reportedCostPico === null || observed.pending) return null
  const priced = pricing.priceCall(callToPrice(result, observed, usage, result.call.arrivedAtMs))
  return priced.kind === 'priced' && priced.priceId !== null ? priced : null
}

/**
 * The cost of a call that reported no figures: nothing where it is known to have used nothing, else unknown.
 * A fetch uses nothing itself: the call that made what it fetches is counted, or unpriced, on its own.
 */
function priceWithoutFigures(result: CallResult, observed: Observation): PricedCall {
  const { status, endpoint, isUnsaid } = result
  if (isUnsaid === true) return NOTHING_TO_PRICE
  if (isCutUnanswered(result)) return endpoint.metering === 'unknown' ? NO_READER : NO_FIGURES
  // A session on a path that is free to GET may have served anything.
  if (status === SWITCHING_PROTOCOLS) return endpoint.metering === 'metered' ? NO_FIGURES : NO_READER
  if (status === null || status < 200 || status >= 300 || observed.failed) return NOTHING_TO_PRICE
  if (endpoint.metering === 'free' || endpoint.responseUse === 'fetched') return NOTHING_TO_PRICE
  if (observed.pending) return BILLED_LATER
  if (endpoint.metering === 'passes_by') return PASSES_BY
  return endpoint.metering === 'unknown' ? NO_READER : NO_FIGURES
}

/** Its client left when the upstream had the request and had not answered: it may have done the work. */
function isCutUnanswered({ status, outcome, endpoint }: CallResult): boolean {
  const mayCost = endpoint.metering !== 'free' && endpoint.responseUse === 'created'
  return status === null && outcome === 'client_aborted' && mayCost
}

/**
 * Whether an upstream answered as the model that was asked for, so that its name is one, even where no list
 * has it. A handshake is accepted before its model is looked at.
 */
export function wasServed(
  status: number | null,
  { units, failed }: Observation,
  usageSource: UsageSource,
  { kind }: PricedCall,
): boolean {
  if (status === null || failed) return false
  const hasFigures = usageSource !== 'none' || hasUnits(units)
  if (status === SWITCHING_PROTOCOLS) return hasFigures
  return status >= 200 && status < 300 && (hasFigures || kind === 'unpriced')
}

function hasUnits(units: BilledUnits): boolean {
  return BILLED_UNITS.some((name) => units[name] !== null)
}
