import { type CallRecord, type OpenCall, responseUseOf } from '../../call/call-record.ts'
import { NOTHING_OBSERVED, type Observation } from '../../call/observation.ts'
import { type BilledUnit, type BilledUnits, NO_UNITS, NO_USAGE, type TokenUsage } from '../../call/usage.ts'
import { objectsOfInterrupted } from '../../objects/record-objects.ts'
import { endpointContextOfCut } from '../routing/route.ts'
import { buildCallRecord } from './build-call-record.ts'
import type { CallResult } from './call-result.ts'
import type { Pricing } from './pricing.ts'
import { decodeUsageSnapshot } from './usage-snapshot.ts'

/**
 * The record of a call whose counts need no estimate: figures that the upstream reported stand as they are.
 */
export function finalizeCall(result: CallResult, pricing: Pricing): CallRecord {
  const observed = withoutPassingFigures(result.observation ?? NOTHING_OBSERVED)
  return buildCallRecord(result, observed, observed.usage, observed.usageSource, pricing)
}

/**
 * As {@link finalizeCall}, where {@link needsEstimate}: what the upstream did not report is estimated and
 * flagged.
 */
export async function finalizeWithEstimate(result: CallResult, pricing: Pricing): Promise<CallRecord> {
  const { estimates } = result
  const observed = result.observation ?? NOTHING_OBSERVED
  const [input, output] = await Promise.all([
    estimates?.estimateInput(observed.usage.inputTokens) ?? observed.usage.inputTokens,
    estimates?.estimateOutput() ?? 0,
  ])
  if (output === null) return finalizeUnreadable(result, input, pricing)
  // An error in the place of an answer used nothing; one in the middle of it ended what had been delivered.
  if (observed.failed && output === 0) return finalizeCall(result, pricing)
  // Speech, images, moderations: no token could be counted, so none is claimed.
  if (input === null && output === 0 && observed.usageSource === 'none') return finalizeCall(result, pricing)
  // Running counts (vLLM's continuous usage) may be ahead of an estimate; the first ones of Anthropic's are
  // behind it.
  const reportedOutput = observed.usage.outputTokens ?? 0
  const isEstimated = output > reportedOutput || observed.usage.inputTokens !== input || input === null
  const usage: TokenUsage = {
    ...observed.usage,
    inputTokens: input,
    outputTokens: Math.max(output, reportedOutput),
  }
  return buildCallRecord(result, observed, usage, isEstimated ? 'estimated' : 'partial', pricing)
}

/** As {@link finalizeCall}, where the caller has completed the counts: `usage` has estimates in it. */
export function finalizeEstimated(result: CallResult, usage: TokenUsage, pricing: Pricing): CallRecord {
  return buildCallRecord(result, result.observation ?? NOTHING_OBSERVED, usage, 'estimated', pricing)
}

/**
 * An answer that could not be read counts with its prompt alone: how much it used is unknown, even whether
 * little.
 */
function finalizeUnreadable(result: CallResult, inputTokens: number | null, pricing: Pricing): CallRecord {
  if (inputTokens === null) return finalizeCall(result, pricing)
  return finalizeEstimated(result, { ...NO_USAGE, inputTokens }, pricing)
}

/**
 * Figures of work that runs on (OpenAI's batches are made with a usage of zeros) are not what it will have
 * used. They would claim its id, so that what a later fetch reports would not count.
 */
function withoutPassingFigures(observed: Observation): Observation {
  return observed.pending ? { ...observed, usageSource: 'none', usage: NO_USAGE, units: NO_UNITS } : observed
}

/**
 * Whether estimates have to complete the counts: only where an answer was (partly) given without its usage.
 */
export function needsEstimate({ estimates, observation, status, outcome }: CallResult): boolean {
  if (estimates === null) return false
  const source = observation?.usageSource ?? 'none'
  if (source === 'reported' || source === 'invalid') return false
  if (observation !== null && isBilledWithoutTokens(observation.units)) return false
  // The provider sends these counts with a later request; an estimate now would count them twice.
  if (observation?.pending === true) return false
  if (status === null) return outcome === 'client_aborted'
  return status >= 200 && status < 300
}

/**
 * What a provider bills in the place of tokens. Other units are of tools that ran amid an answer, beside its
 * tokens.
 */
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
 * The record of a call that a crash cut: with its last usage snapshot, if it had one. What passed after
 * that snapshot is unknown, so nothing is estimated.
 */
export function buildInterrupted(call: OpenCall, snapshotText: string | null, pricing: Pricing): CallRecord {
  const snapshot = snapshotText === null ? null : decodeUsageSnapshot(snapshotText)
  const record = finalizeCall(
    {
      call,
      client: snapshot ?? { clientName: null },
      endpoint: endpointContextOfCut(snapshot?.responseUse ?? responseUseOf(call)),
      status: snapshot?.status ?? null,
      outcome: 'interrupted',
      observation: snapshot?.observation ?? null,
      latencyUs: null,
      ttftUs: null,
      estimates: null,
    },
    pricing,
  )
  const objects = objectsOfInterrupted(record)
  return objects === null ? record : { ...record, objects }
}
