import type { CallResult } from '../../call/build-call-record.ts'
import { firstJobs, type OpenCall, type Outcome } from '../../call/call-record.ts'
import { NOTHING_OBSERVED, type Observation } from '../../call/observation.ts'
import type { UnpricedReason } from '../../call/unpriced-reason.ts'
import {
  BILLED_UNITS,
  type BilledUnit,
  type BilledUnits,
  NO_UNITS,
  NO_USAGE,
  type TokenUsage,
  type UsageSource,
} from '../../call/usage.ts'
import type { BesideReported } from '../../pricing/catalog/catalog-call.ts'
import type { EndpointContext } from '../routing/endpoint-context.ts'
import { asSubmitted } from './submitted.ts'

/** What a call costs, or why that cannot be said. */
export type PricedCall =
  | {
      readonly kind: 'priced'
      readonly costPico: bigint
      readonly priceId: string | null
      readonly definition: string | null
      /** Something that was counted has no price, so the cost is not all of it. */
      readonly isPartly?: boolean
      readonly reported?: BesideReported | undefined
    }
  | {
      readonly kind: 'unpriced'
      readonly reason: UnpricedReason
      /** Of a call at another service tier than standard: what keeps it apart. */
      readonly priceId?: string | null
      readonly definition?: string | null
      readonly reported?: BesideReported | undefined
    }

/** What pricing a call needs to know. */
export interface CallToPrice {
  readonly call: OpenCall
  readonly observation: Observation
  readonly usage: TokenUsage
  /** `null`: not known any more, so no markup of the client's applies. */
  readonly clientName: string | null
}

export interface Pricing {
  /** Never throws; a call without a price is `unpriced`, never free. */
  priceCall(call: CallToPrice): PricedCall
  /** Whether an upstream or the configuration lists the model that `call` asked for, or the catalog has a price for it. */
  knowsModel(call: OpenCall, model: string): boolean
  /** A single call that costs more is booked and flagged; `null` or left out: none is. */
  readonly alertAbovePico?: bigint | null
}

/** Token counts by our own tokenizer, for what the upstream did not report. */
export interface Estimates {
  /** Prompt tokens; `null` when this endpoint has none to count. */
  readonly input: (() => Promise<number | null>) | null
  /** Tokens of what was delivered; `null`: it could not be read. */
  readonly output: (() => Promise<number | null>) | null
}

export interface CallContext {
  readonly call: OpenCall
  readonly clientName: string | null
  readonly endpoint: EndpointContext
  readonly status: number | null
  readonly outcome: Outcome
  readonly observation: Observation | null
  readonly latencyUs: number | null
  readonly ttftUs: number | null
  /** `null`: this endpoint's answers carry no tokens, so their absence is nothing to estimate. */
  readonly estimates: Estimates | null
}

/**
 * A call that used nothing costs nothing, whatever its model would cost. Only for what is known to have used nothing:
 * what was served and told nothing is unpriced.
 */
export const NOTHING_TO_PRICE: PricedCall = { kind: 'priced', costPico: 0n, priceId: null, definition: null }

/** Impossible counts have no cost that anyone could know: unpriced, not free. */
const INVALID_USAGE: PricedCall = { kind: 'unpriced', reason: 'invalid_usage' }
const NO_READER: PricedCall = { kind: 'unpriced', reason: 'no_reader' }
const NO_FIGURES: PricedCall = { kind: 'unpriced', reason: 'no_figures' }
const PASSES_BY: PricedCall = { kind: 'unpriced', reason: 'passes_by' }
const BILLED_LATER: PricedCall = { kind: 'unpriced', reason: 'billed_later' }
const SWITCHING_PROTOCOLS = 101

/** Whether the counts have to be completed by estimates: only where an answer was (partly) given without its usage. */
export function needsEstimate(context: CallContext): boolean {
  if (context.estimates === null) return false
  const source = context.observation?.usageSource ?? 'none'
  if (source === 'reported' || source === 'invalid') return false
  if (context.observation !== null && isBilledWithoutTokens(context.observation.units)) return false
  // The provider sends these counts with a later request; an estimate now would count them twice.
  if (context.observation?.pending === true) return false
  if (context.status === null) return context.outcome === 'client_aborted'
  return context.status >= 200 && context.status < 300
}

/** What a provider bills in the place of tokens. The others are of tools that it ran amid an answer, beside its tokens. */
const IN_PLACE_OF_TOKENS = [
  'searchUnits',
  'images',
  'audioMs',
  'characters',
  'pages',
  'annotatedPages',
  'videoMs',
  'trainedTokens',
] as const satisfies readonly BilledUnit[]

function isBilledWithoutTokens(units: BilledUnits): boolean {
  return IN_PLACE_OF_TOKENS.some((name) => units[name] !== null)
}

/**
 * How the call ended, with counts and cost. Figures the upstream reported stand as they are; what it did not
 * report is estimated and said to be so.
 */
export async function finalizeWithEstimate(context: CallContext, pricing: Pricing): Promise<CallResult> {
  const observed = context.observation ?? NOTHING_OBSERVED
  const [input, output] = await Promise.all([
    observed.usage.inputTokens ?? context.estimates?.input?.() ?? null,
    context.estimates?.output?.() ?? 0,
  ])
  if (output === null) return finalizeUnreadable(context, input, pricing)
  // An error in the place of an answer used nothing; one that came amid it ended what had been delivered.
  if (observed.failed && output === 0) return finalizeCall(context, pricing)
  // Speech, images, moderations: nothing that could be counted, so nothing is claimed.
  if (input === null && output === 0 && observed.usageSource === 'none') return finalizeCall(context, pricing)
  // Running counts (vLLM's continuous usage) may be ahead of an estimate; the first words of Anthropic's are behind it.
  const reportedOutput = observed.usage.outputTokens ?? 0
  const estimated = output > reportedOutput || observed.usage.inputTokens === null
  const usage: TokenUsage = {
    ...observed.usage,
    inputTokens: input,
    outputTokens: Math.max(output, reportedOutput),
  }
  return finish(context, observed, usage, estimated ? 'estimated' : 'partial', pricing)
}

/** The prompt of an answer that nobody could read; what that used nobody knows, not even that it was little. */
function finalizeUnreadable(context: CallContext, inputTokens: number | null, pricing: Pricing): CallResult {
  if (inputTokens === null) return finalizeCall(context, pricing)
  const usage: TokenUsage = { ...NO_USAGE, inputTokens }
  return finish(context, context.observation ?? NOTHING_OBSERVED, usage, 'estimated', pricing)
}

/** As {@link finalizeWithEstimate}, where the caller has completed the counts: `usage` has estimates in it. */
export function finalizeEstimated(context: CallContext, usage: TokenUsage, pricing: Pricing): CallResult {
  return finish(context, context.observation ?? NOTHING_OBSERVED, usage, 'estimated', pricing)
}

/** As {@link finalizeWithEstimate}, where {@link needsEstimate} said no. */
export function finalizeCall(context: CallContext, pricing: Pricing): CallResult {
  const observed = withoutPassingFigures(context.observation ?? NOTHING_OBSERVED)
  return finish(context, observed, observed.usage, observed.usageSource, pricing)
}

/**
 * Figures of work that runs on (OpenAI's batches are made with a usage of zeros) are not what it will have used, and
 * would claim its id, so that what a later fetch tells would not count.
 */
function withoutPassingFigures(observed: Observation): Observation {
  return observed.pending ? { ...observed, usageSource: 'none', usage: NO_USAGE, units: NO_UNITS } : observed
}

function finish(
  context: CallContext,
  observed: Observation,
  usage: TokenUsage,
  usageSource: UsageSource,
  pricing: Pricing,
): CallResult {
  const priced = priceOf(context, observed, usage, usageSource, pricing)
  const requested = context.call.requestedModel
  const costPico = priced.kind === 'priced' ? priced.costPico : null
  const alertAbovePico = pricing.alertAbovePico ?? null
  return {
    status: context.status,
    outcome: context.outcome,
    usageSource,
    usage,
    units: observed.units,
    usageRaw: observed.raw,
    reportedModel: observed.model,
    requestedModelKnown:
      requested !== null &&
      (wasServed(context.status, observed, usageSource, priced) ||
        pricing.knowsModel(context.call, requested)),
    latencyUs: context.latencyUs,
    ttftUs: context.ttftUs,
    costPico,
    priceId: priced.priceId ?? null,
    price: priced.definition ?? null,
    responseId: observed.responseId,
    answerId: observed.answerId,
    serviceTier: observed.serviceTier,
    reportedCostPico: observed.reportedCostPico,
    ownCostPico: priced.reported?.ownCostPico ?? null,
    costDiffers: priced.reported?.differs === true,
    partlyUnpriced: priced.kind === 'priced' && priced.isPartly === true,
    responseUse: context.endpoint.responseUse,
    unpricedReason: priced.kind === 'unpriced' ? priced.reason : null,
    suspect: costPico !== null && alertAbovePico !== null && costPico > alertAbovePico,
    failedInBody: observed.failed,
    // What is left out has no price looked up: the definition would go with nothing.
    jobs: (observed.jobs === undefined ? undefined : firstJobs(observed.jobs))?.map((job) => ({
      ...finish(context, job, job.usage, job.usageSource, pricing),
      isFile: job.isFile,
    })),
  }
}

/**
 * Whether an upstream answered as the model that was asked for, so that its name is one, whoever else knows it. A
 * handshake is accepted before the model is looked at.
 */
function wasServed(
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

function priceOf(
  context: CallContext,
  observed: Observation,
  usage: TokenUsage,
  usageSource: UsageSource,
  pricing: Pricing,
): PricedCall {
  if (usageSource === 'invalid') return INVALID_USAGE
  if (usageSource === 'none' && !hasUnits(observed.units)) {
    return priceByReportedCost(context, observed, usage, pricing) ?? priceOfSilence(context, observed)
  }
  // An answer's tokens without those of its prompt, or the other way: a cost of these alone would look like the whole.
  if (usageSource === 'estimated' && (usage.inputTokens === null || usage.outputTokens === null))
    return NO_FIGURES
  const call = context.endpoint.responseUse === 'fetched' ? asSubmitted(context.call, observed) : context.call
  return pricing.priceCall({ call, observation: observed, usage, clientName: context.clientName })
}

/** A call that told what it cost and nothing else (a film of xAI's); `null`: it did not, or is not believed. */
function priceByReportedCost(
  { call, clientName }: CallContext,
  observed: Observation,
  usage: TokenUsage,
  pricing: Pricing,
): PricedCall | null {
  if (observed.reportedCostPico === null || observed.pending) return null
  const priced = pricing.priceCall({ call, observation: observed, usage, clientName })
  return priced.kind === 'priced' && priced.priceId !== null ? priced : null
}

/**
 * What a call costs that told no figures: nothing where it is known that it used nothing, else nobody knows.
 * A fetch uses nothing itself: what it asks for was made by a call that is counted, or unpriced, on its own.
 */
function priceOfSilence(context: CallContext, observed: Observation): PricedCall {
  const { status, endpoint } = context
  if (isCutUnanswered(context)) return NO_FIGURES
  // A session on a path that is free to GET may have served anything.
  if (status === SWITCHING_PROTOCOLS) return endpoint.metering === 'metered' ? NO_FIGURES : NO_READER
  if (status === null || status < 200 || status >= 300 || observed.failed) return NOTHING_TO_PRICE
  if (endpoint.metering === 'free' || endpoint.responseUse === 'fetched') return NOTHING_TO_PRICE
  if (observed.pending) return BILLED_LATER
  if (endpoint.metering === 'passes_by') return PASSES_BY
  return endpoint.metering === 'unknown' ? NO_READER : NO_FIGURES
}

/** Its client left when the upstream had the request and no answer had come, and no tokens are to be estimated. */
function isCutUnanswered({ status, outcome, endpoint, estimates }: CallContext): boolean {
  const isMetered = endpoint.metering === 'metered' && endpoint.responseUse === 'created'
  return status === null && outcome === 'client_aborted' && isMetered && estimates === null
}

function hasUnits(units: BilledUnits): boolean {
  return BILLED_UNITS.some((name) => units[name] !== null)
}
