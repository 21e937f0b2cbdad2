import {
  type CallRecord,
  firstJobs,
  type JobUse,
  MAX_BESIDE_MODELS,
  type ModelCost,
  type OpenCall,
  responseUseOf,
} from '../../call/call-record.ts'
import { parseJobUses } from '../../call/codec/record-codec.ts'
import { type JobObservation, NOTHING_OBSERVED, type Observation } from '../../call/observation.ts'
import { useOf } from '../../call/record-fields.ts'
import {
  BILLED_UNITS,
  type BilledUnit,
  type BilledUnits,
  MAX_COUNT,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  type TokenUsage,
  type UsageSource,
} from '../../call/usage.ts'
import { cleanModel, cleanText } from '../../domain/clean-text.ts'
import { NO_MODEL, UNKNOWN_MODEL } from '../../domain/model-name.ts'
import { objectsOfInterrupted } from '../../objects/record-objects.ts'
import { endpointContextOfCut } from '../routing/route.ts'
import type { CallResult } from './call-result.ts'
import { priceResult, wasServed } from './price-result.ts'
import type { PricedCall, Pricing } from './pricing.ts'
import { decodeUsageSnapshot } from './snapshot-saver.ts'

const MAX_RAW_USAGE_BYTES = 8192
const MAX_RESPONSE_ID_BYTES = 256
const MAX_TIER_BYTES = 64
/** Above this no column could hold it; no call costs that. */
const MAX_PICO = 10n ** 38n

/**
 * Every field, those too that may be absent: a new one does not compile until it has a source. What is known before
 * the call goes upstream has its source in `buildOpenCall`.
 */
type BuiltRecord = Required<OpenCall> & Required<Omit<CallRecord, 'objects' | 'chargedPico' | keyof OpenCall>>

/**
 * Prices a call and makes its record. Whatever the client and the upstream wrote, the record can be stored:
 * strings are cleaned and bounded. Counts that no call can have make the whole usage `invalid`, not a sum
 * that cannot be undone.
 *
 * @param usage the final counts, which may have estimates in them
 */
function buildCallRecord(
  result: CallResult,
  observed: Observation,
  usage: TokenUsage,
  usageSource: UsageSource,
  pricing: Pricing,
): BuiltRecord {
  const priced = priceResult(result, observed, usage, usageSource, pricing)
  const { call, latencyUs, ttftUs, status } = result
  const { responseId, units } = observed
  const isSane = hasSaneCounts(usage, units)
  const costPico = isSane && priced.kind === 'priced' ? priced.costPico : null
  const reportedModel = cleanModel(observed.model)
  // Each field by its name: a copy of `call` that is added to takes five times the memory of the record.
  return {
    callId: call.callId,
    arrivedAtMs: call.arrivedAtMs,
    clientId: call.clientId,
    keyId: call.keyId,
    upstream: call.upstream,
    provider: call.provider,
    method: call.method,
    path: call.path,
    requestedModel: call.requestedModel,
    webSocket: call.webSocket,
    traceId: call.traceId,
    route: call.route,
    axes: call.axes,
    reportedModel,
    model: billedModel(result, reportedModel, observed, usageSource, priced, pricing),
    status,
    outcome: result.outcome,
    usageSource: isSane ? usageSource : 'invalid',
    usage: isSane ? usage : NO_USAGE,
    units: isSane ? units : NO_UNITS,
    usageRaw: observed.raw === null ? null : cleanText(observed.raw, MAX_RAW_USAGE_BYTES),
    latencyUs: latencyUs === null ? null : Math.max(0, Math.round(latencyUs)),
    ttftUs: ttftUs === null ? null : Math.max(0, Math.round(ttftUs)),
    costPico: costPico === null ? null : costPico.toString(),
    priceId: isSane ? (priced.priceId ?? null) : null,
    price: isSane ? (priced.definition ?? null) : null,
    responseId: responseId === null ? null : cleanText(responseId, MAX_RESPONSE_ID_BYTES),
    answerId: cleanAnswerId(observed),
    serviceTier: cleanTier(observed.serviceTier),
    reportedCostPico: picoText(observed.reportedCostPico),
    ownCostPico: isSane ? picoText(priced.reported?.ownCostPico ?? null) : undefined,
    costDiffers: isSane && priced.reported?.differs === true ? true : undefined,
    partlyUnpriced: isSane && priced.kind === 'priced' && priced.isPartly === true ? true : undefined,
    responseUse: responseId === null ? undefined : result.endpoint.responseUse,
    unpricedReason: isSane ? (priced.kind === 'unpriced' ? priced.reason : undefined) : 'invalid_usage',
    suspect: isAbove(costPico, pricing.alertAbovePico) ? true : undefined,
    beside: isSane ? besideCosts(priced) : undefined,
    failedInBody: observed.failed,
    requestBytes: result.bytes?.request,
    answerBytes: result.bytes?.answer,
    jobs: observed.jobs === undefined ? undefined : jobUses(result, observed.jobs, pricing),
  }
}

/** Under the names that limits are asked by. */
function besideCosts({ beside }: PricedCall): readonly ModelCost[] | undefined {
  if (beside === undefined) return undefined
  const costs = new Map<string, bigint>()
  for (const { model, costPico } of beside) {
    const name = cleanModel(model)
    if (name !== null && costPico > 0n) costs.set(name, (costs.get(name) ?? 0n) + costPico)
  }
  const list = [...costs].map(([model, costPico]) => ({ model, costPico: `${costPico}` }))
  return list.length === 0 ? undefined : list.slice(0, MAX_BESIDE_MODELS)
}

/** Jobs beyond what a record takes are not priced: their prices' definitions would be lost with them. */
function jobUses(
  result: CallResult,
  jobs: readonly JobObservation[],
  pricing: Pricing,
): readonly JobUse[] | undefined {
  const uses: JobUse[] = []
  for (const job of firstJobs(jobs)) {
    const { isFile } = job
    const partOf = job.partOf === undefined ? undefined : cleanText(job.partOf, MAX_RESPONSE_ID_BYTES)
    // Nothing else reports a single request of a job: without figures its cost is not known.
    const own = partOf === undefined ? result : { ...result, endpoint: endpointContextOfCut('created') }
    const record = buildCallRecord(own, job, job.usage, job.usageSource, pricing)
    if (record.responseId !== null) uses.push({ ...useOf(record), id: record.responseId, isFile, partOf })
  }
  return uses.length === 0 ? undefined : uses
}

/**
 * The name that a call is totalled under: the reported one of a success, else the requested one if it is
 * known.
 */
function billedModel(
  { call, status }: CallResult,
  reported: string | null,
  observed: Observation,
  usageSource: UsageSource,
  priced: PricedCall,
  pricing: Pricing,
): string {
  const { requestedModel, webSocket } = call
  // The success of a WebSocket session is 101: only its messages name the model.
  const hasSucceeded = status !== null && ((status >= 200 && status < 300) || (webSocket && status === 101))
  if (reported !== null && hasSucceeded) return reported
  if (requestedModel === null) return NO_MODEL
  const isKnown = wasServed(status, observed, usageSource, priced) || pricing.knowsModel(call, requestedModel)
  return isKnown ? requestedModel : UNKNOWN_MODEL
}

/** Kept only beside another `responseId`: a response that can be fetched again is named by that. */
function cleanAnswerId({ answerId, responseId }: Observation): string | undefined {
  if (answerId === undefined || answerId === '' || answerId === responseId) return undefined
  return cleanText(answerId, MAX_RESPONSE_ID_BYTES)
}

function cleanTier(tier: string | null): string | undefined {
  return tier === null || tier === '' ? undefined : cleanText(tier, MAX_TIER_BYTES)
}

function picoText(pico: bigint | null): string | undefined {
  return pico === null || pico < 0n || pico >= MAX_PICO ? undefined : pico.toString()
}

function isAbove(costPico: bigint | null, limitPico: bigint | null | undefined): boolean {
  return costPico !== null && limitPico !== null && limitPico !== undefined && costPico > limitPico
}

function hasSaneCounts(usage: TokenUsage, units: BilledUnits): boolean {
  for (const name of TOKEN_CLASSES) if (!isSaneCount(usage[name])) return false
  for (const name of BILLED_UNITS) if (!isSaneCount(units[name])) return false
  return true
}

function isSaneCount(count: number | null): boolean {
  return count === null || (Number.isSafeInteger(count) && count >= 0 && count <= MAX_COUNT)
}

/**
 * The record of a call whose counts need no estimate: figures that the upstream reported stand as they are.
 */
export function finalizeCall(result: CallResult, pricing: Pricing): CallRecord {
  const observed = withoutPassingFigures(result.observation ?? NOTHING_OBSERVED)
  const source = observed.hasEstimatedUnits === true ? 'estimated' : observed.usageSource
  return buildCallRecord(result, observed, observed.usage, source, pricing)
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
export function buildInterrupted(
  opened: OpenCall,
  snapshotText: string | null,
  pricing: Pricing,
): CallRecord {
  const snapshot = snapshotText === null ? null : decodeUsageSnapshot(snapshotText)
  const attempt = snapshot?.attempt
  const call = attempt === undefined ? opened : atAttempt(opened, attempt)
  const finalized = finalizeCall(
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
  const uses = attempt === undefined ? null : parseJobUses(call, attempt.uses)
  const record = uses === null || uses.length === 0 ? finalized : { ...finalized, jobs: uses }
  const objects = snapshot?.objects ?? objectsOfInterrupted(record)
  return objects === null ? record : { ...record, objects }
}

/** The call as its last attempt was made. */
function atAttempt(
  opened: OpenCall,
  {
    upstream,
    provider,
    path,
    requestedModel,
  }: Pick<OpenCall, 'upstream' | 'provider' | 'path' | 'requestedModel'>,
): OpenCall {
  return { ...opened, upstream, provider, path, requestedModel }
}
