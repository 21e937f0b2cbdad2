import { hashedUuid } from './hashed-uuid.ts'
import type { ObjectEvent } from './object-event.ts'
import type { BilledUnits, TokenUsage, UsageSource } from './usage.ts'

/** How a call ended. */
export const OUTCOMES = ['complete', 'client_aborted', 'upstream_error', 'interrupted'] as const

export type Outcome = (typeof OUTCOMES)[number]

/** The context of a call that is about to go upstream: written to the journal first. */
export interface OpenCall {
  /** UUID version 7, lower case with dashes. */
  readonly callId: string
  /** Milliseconds since 1970 by the gateway's clock, when the request arrived. Its UTC day is the call's day. */
  readonly arrivedAtMs: number
  readonly clientId: string
  readonly keyId: string
  /** The upstream's configured name. */
  readonly upstream: string
  readonly provider: string
  readonly method: string
  /** Without query; at most 512 bytes. */
  readonly path: string
  /** As the client wrote it; `null` when the request named none. Bounded and cleaned. */
  readonly requestedModel: string | null
  /** A WebSocket session: its duration is not a latency. */
  readonly webSocket: boolean
  /** The trace that it is a part of, 32 hexadecimal digits; absent: of none that the gateway knows. */
  readonly traceId?: string | undefined
  /** The name of `routes` that led it to its upstream; absent: none did. */
  readonly route?: string | undefined
  /** Its values on the axes of the configuration, as `axesText` writes them; absent: it has none. */
  readonly axes?: string | undefined
}

/** The use and the cost of one model. A call has one; so has each job that its answer reports. */
export interface CallUse {
  readonly reportedModel: string | null
  /** The name this use is totalled under in `daily_usage`. */
  readonly model: string
  readonly usageSource: UsageSource
  readonly usage: TokenUsage
  readonly units: BilledUnits
  /** The usage object as the upstream wrote it, at most 8 KiB. */
  readonly usageRaw: string | null
  /** Integer pico-USD in decimal; `null`: unpriced. */
  readonly costPico: string | null
  /** Names the price, its tier and service tier; `null`: unpriced or nothing to price. */
  readonly priceId: string | null
  /**
   * The price behind `priceId`, as `Price` in JSON, on the first record of a producer that uses it: so the
   * definition reaches Postgres by the same exactly-once way as the records that rely on it.
   */
  readonly price: string | null
  /** The service tier the answer named, as written, bounded. */
  readonly serviceTier?: string | undefined
  /** The cost that the upstream said, whether it is believed or not; integer pico-USD in decimal. */
  readonly reportedCostPico?: string | undefined
  /** The cost by our prices: beside the cost that the upstream reported, and where a markup of 0 has it not charged. */
  readonly ownCostPico?: string | undefined
  /** These two are more than one in a hundred apart. */
  readonly costDiffers?: true | undefined
  /** Something that was counted has no price, so the cost is not all of it. */
  readonly partlyUnpriced?: true | undefined
  /** Why there is no cost, one of `UNPRICED_REASONS`; absent where there is a cost. */
  readonly unpricedReason?: string | undefined
  /** It cost more than one call should (`CALL_ALERT_USD`): booked as it is, and to be checked. */
  readonly suspect?: true | undefined
}

/**
 * The way in which a call used the response that its answer names. `created`: it had the response made, and counts
 * whatever its id: servers choose ids, or clients (vLLM), and the same id comes twice. `fetched`: it asked for a
 * response that existed already, whose usage counts once however often it is fetched, and by however many clients.
 */
export const RESPONSE_USES = ['created', 'fetched'] as const

export type ResponseUse = (typeof RESPONSE_USES)[number]

/**
 * The same for a record without it, from an earlier release: by method, and by a path that carries the id of what it
 * cancels.
 */
export function responseUseOf({
  method,
  path,
}: {
  readonly method: string
  readonly path: string
}): ResponseUse {
  return method === 'GET' || path.endsWith('/cancel') ? 'fetched' : 'created'
}

/**
 * The fact that a call happened and what it used: the unit of the ledger, written once, never changed.
 * Built only by `buildCallRecord`, which makes every string storable and every number sane. `RECORD_FIELDS`
 * says of each field how it is written and stored. Fields of later releases are optional: records of older
 * releases do not have them.
 */
export interface CallRecord extends OpenCall, CallUse {
  /** The upstream's HTTP status; `null` when it never answered. */
  readonly status: number | null
  readonly outcome: Outcome
  /** Arrival to the upstream's last byte or the abort, in microseconds; `null` when the upstream never answered. */
  readonly latencyUs: number | null
  /** Arrival to the upstream's first body byte, in microseconds. */
  readonly ttftUs: number | null
  /** The provider's response id where the same response may be fetched (and so reported) again. */
  readonly responseId: string | null
  /**
   * The id by which the answer named itself, where that is not `responseId`. It finds the call and never decides
   * whether a call counts: servers and clients choose these ids, and some choose one for all.
   */
  readonly answerId?: string | undefined
  /** Tells whether the call made that response or fetched it; only beside a `responseId`. */
  readonly responseUse?: ResponseUse | undefined
  /**
   * The charge to budgets while its cost is not known: what it had reserved, integer pico-USD in decimal,
   * above 0. Absent where there is a cost, where a job of the call reserves on, and where limits did not hold.
   */
  readonly chargedPico?: string | undefined
  /**
   * The costs of models that a session ran beside its own, each once. Its own cost has them too, where it has one: they say of
   * which budgets it is spent beyond those for its own model.
   */
  readonly beside?: readonly ModelCost[] | undefined
  /** A success status, but the body carried an error. */
  readonly failedInBody: boolean
  /** The length of the request's body, of calls of tools: as the client sent it. */
  readonly requestBytes?: number | undefined
  /** The length of the answer's body, of calls of tools: as the upstream sent it, as far as it came. */
  readonly answerBytes?: number | undefined
  /** The events of objects that the upstream keeps; absent where it did nothing to any. */
  readonly objects?: readonly ObjectEvent[] | undefined
  /**
   * The uses that its answer reported of jobs that other calls had submitted, where that is not one job by one model,
   * which the fields above hold: a page of jobs, a file of results. At most `MAX_JOB_USES`.
   */
  readonly jobs?: readonly JobUse[] | undefined
}

/** The cost of one model in a session. */
export interface ModelCost {
  readonly model: string
  /** Integer pico-USD in decimal, above 0. */
  readonly costPico: string
}

/** More than a session keeps apart. */
export const MAX_BESIDE_MODELS = 64

/** The use of one model in a job; a job of several models has one for each, under one id. */
export interface JobUse extends CallUse {
  /** The job's id, or that of the file that it left. */
  readonly id: string
  /** `id` is a file's: it counts only where the file is known to be one that a job left. */
  readonly isFile?: true | undefined
  /**
   * `id` is of one request of the job that this names: the use is its submitter's, counts once for the request, and says
   * nothing of the others. At most 256 bytes. Releases that do not know this member count it for the client that fetched it.
   */
  readonly partOf?: string | undefined
  /**
   * It is not a job's: another upstream was asked before the one that answered the call, and may bill what it had of it.
   * Releases that do not know this member count the same use and cost, under the upstream of the call.
   */
  readonly attempt?: AttemptPlace | undefined
}

/** Where an attempt of a call went. */
export interface AttemptPlace {
  readonly upstream: string
  readonly provider: string
  /** As that upstream was asked for it. */
  readonly requestedModel: string | null
}

/** The `id` of an attempt's use: no upstream's object has it. `number` counts from 1. */
export function attemptIdOf(callId: string, number: number): string {
  return `attempt:${callId}:${number}`
}

/** More than any provider lists on a page: xAI gives up to 1,000 results. */
export const MAX_JOB_USES = 1_024

/** As many of them as a record takes: whole jobs, each with all of its models, and none without an id. */
export function firstJobs<Reported extends { readonly responseId: string | null }>(
  jobs: readonly Reported[],
): readonly Reported[] {
  const named = jobs.filter(({ responseId }) => responseId !== null)
  const cut = named[MAX_JOB_USES]?.responseId
  return cut === undefined
    ? named
    : named.slice(0, MAX_JOB_USES).filter(({ responseId }) => responseId !== cut)
}

/** A record as it counts: a call, or what a call reported of another's work. */
export interface CountedCall extends CallRecord {
  /** The client and key that sent its request, where another client or key is billed. */
  readonly fetchedBy?: { readonly clientId: string; readonly keyId: string }
  /** Absent: it is a call, a request. */
  readonly settlement?: Settlement
}

/** Not a request: another call reported what the work of an earlier one used. */
interface Settlement {
  /** The call whose answer reported it. */
  readonly reportedBy: string
  /** The call that submitted the work; `null`: none of ours, so the fetching client pays, on the day of the fetch. */
  readonly settles: string | null
}

/** The id of a settlement, the same whenever the same record is counted: a UUID of version 8. */
export function settlementIdOf(reportedBy: string, jobId: string, index: number): string {
  return hashedUuid(reportedBy, jobId, `${index}`)
}
