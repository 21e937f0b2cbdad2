import { NO_MODEL, UNKNOWN_MODEL } from '../domain/billed-model.ts'
import { cleanModel, cleanText } from '../domain/clean-text.ts'
import { type CallRecord, type JobUse, MAX_JOB_USES, type OpenCall, type Outcome } from './call-record.ts'
import { useOf } from './job-use.ts'
import type { ResponseUse } from './response-use.ts'
import type { UnpricedReason } from './unpriced-reason.ts'
import {
  BILLED_UNITS,
  type BilledUnits,
  MAX_COUNT,
  NO_UNITS,
  NO_USAGE,
  TOKEN_CLASSES,
  type TokenUsage,
  type UsageSource,
} from './usage.ts'

const MAX_RAW_USAGE_BYTES = 8192
const MAX_RESPONSE_ID_BYTES = 256

/** How a call ended, as the stations of the walk saw it. */
export interface CallResult {
  readonly status: number | null
  readonly outcome: Outcome
  readonly usageSource: UsageSource
  readonly usage: TokenUsage
  readonly units: BilledUnits
  readonly usageRaw: string | null
  readonly reportedModel: string | null
  /** Whether the requested model was served, is listed or has a price, so that its name may stand in the totals. */
  readonly requestedModelKnown: boolean
  readonly latencyUs: number | null
  readonly ttftUs: number | null
  readonly costPico: bigint | null
  readonly priceId: string | null
  readonly price: string | null
  readonly responseId: string | null
  readonly answerId?: string | undefined
  /** As the upstream wrote it. */
  readonly serviceTier?: string | null
  readonly reportedCostPico?: bigint | null
  readonly ownCostPico?: bigint | null
  readonly costDiffers?: boolean
  readonly partlyUnpriced?: boolean
  readonly responseUse: ResponseUse
  /** `null` exactly where there is a cost. */
  readonly unpricedReason: UnpricedReason | null
  readonly suspect: boolean
  readonly failedInBody: boolean
  /** What it told of jobs; each has the `responseId` of its job. */
  readonly jobs?: readonly JobEnd[] | undefined
}

export interface JobEnd extends CallResult {
  readonly isFile?: true | undefined
}

/**
 * Makes the record of a call. Whatever the client and the upstream wrote, the result can be stored: strings are
 * cleaned and bounded, and counts that no call can have make the whole usage `invalid` rather than a sum nobody
 * can undo.
 */
export function buildCallRecord(open: OpenCall, end: CallResult): CallRecord {
  const sane = hasSaneCounts(end.usage, end.units)
  const reportedModel = cleanModel(end.reportedModel)
  const succeeded = hasSucceeded(open, end)
  return {
    ...open,
    reportedModel,
    model: billedModel(open.requestedModel, succeeded ? reportedModel : null, end.requestedModelKnown),
    status: end.status,
    outcome: end.outcome,
    usageSource: sane ? end.usageSource : 'invalid',
    usage: sane ? end.usage : NO_USAGE,
    units: sane ? end.units : NO_UNITS,
    usageRaw: end.usageRaw === null ? null : cleanText(end.usageRaw, MAX_RAW_USAGE_BYTES),
    latencyUs: end.latencyUs === null ? null : Math.max(0, Math.round(end.latencyUs)),
    ttftUs: end.ttftUs === null ? null : Math.max(0, Math.round(end.ttftUs)),
    costPico: sane && end.costPico !== null ? end.costPico.toString() : null,
    priceId: sane ? end.priceId : null,
    price: sane ? end.price : null,
    responseId: end.responseId === null ? null : cleanText(end.responseId, MAX_RESPONSE_ID_BYTES),
    answerId: cleanAnswerId(end),
    serviceTier: cleanTier(end.serviceTier ?? null),
    reportedCostPico: picoText(end.reportedCostPico ?? null),
    ownCostPico: sane ? picoText(end.ownCostPico ?? null) : undefined,
    costDiffers: sane && end.costDiffers === true ? true : undefined,
    partlyUnpriced: sane && end.partlyUnpriced === true ? true : undefined,
    responseUse: end.responseId === null ? undefined : end.responseUse,
    unpricedReason: sane ? (end.unpricedReason ?? undefined) : 'invalid_usage',
    suspect: sane && end.suspect ? true : undefined,
    failedInBody: end.failedInBody,
    jobs: end.jobs === undefined || end.jobs.length === 0 ? undefined : jobUses(open, end.jobs),
  }
}

/** Said once: what can be fetched again is named by its `responseId`. */
function cleanAnswerId({ answerId, responseId }: CallResult): string | undefined {
  if (answerId === undefined || answerId === '' || answerId === responseId) return undefined
  return cleanText(answerId, MAX_RESPONSE_ID_BYTES)
}

function jobUses(open: OpenCall, jobs: readonly JobEnd[]): readonly JobUse[] {
  return jobs.slice(0, MAX_JOB_USES).flatMap(({ isFile, ...end }) => {
    const record = buildCallRecord(open, end)
    return record.responseId === null ? [] : [{ ...useOf(record), id: record.responseId, isFile }]
  })
}

/** A WebSocket session's success is 101: only its messages name the model. */
function hasSucceeded({ webSocket }: OpenCall, { status }: CallResult): boolean {
  if (status === null) return false
  return (status >= 200 && status < 300) || (webSocket && status === 101)
}

/** Above this no column could hold it; no call costs that. */
const MAX_PICO = 10n ** 38n

function picoText(pico: bigint | null): string | undefined {
  return pico === null || pico < 0n || pico >= MAX_PICO ? undefined : pico.toString()
}

const MAX_TIER_BYTES = 64

function cleanTier(tier: string | null): string | undefined {
  return tier === null || tier === '' ? undefined : cleanText(tier, MAX_TIER_BYTES)
}

function billedModel(requested: string | null, reported: string | null, requestedKnown: boolean): string {
  if (reported !== null) return reported
  if (requested === null) return NO_MODEL
  return requestedKnown ? requested : UNKNOWN_MODEL
}

function hasSaneCounts(usage: TokenUsage, units: BilledUnits): boolean {
  for (const name of TOKEN_CLASSES) if (!isSaneCount(usage[name])) return false
  for (const name of BILLED_UNITS) if (!isSaneCount(units[name])) return false
  return true
}

function isSaneCount(count: number | null): boolean {
  return count === null || (Number.isSafeInteger(count) && count >= 0 && count <= MAX_COUNT)
}
