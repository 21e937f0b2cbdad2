import type { ObjectEvent } from './object-event.ts'
import type { ResponseUse } from './response-use.ts'
import type { BilledUnits, TokenUsage, UsageSource } from './usage.ts'

/** How a call ended. */
export type Outcome = 'complete' | 'client_aborted' | 'upstream_error' | 'interrupted'

/** What is known of a call when it is about to go upstream: written to the journal first. */
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
}

/**
 * The fact that a call happened and what it used: the unit of the ledger, written once, never changed.
 * Built only by `buildCallRecord`, which makes every string storable and every number sane.
 */
export interface CallRecord extends OpenCall {
  readonly reportedModel: string | null
  /** The name this call is totalled under in `daily_usage`. */
  readonly model: string
  /** The upstream's HTTP status; `null` when it never answered. */
  readonly status: number | null
  readonly outcome: Outcome
  readonly usageSource: UsageSource
  readonly usage: TokenUsage
  readonly units: BilledUnits
  /** The usage object as the upstream wrote it, at most 8 KiB. */
  readonly usageRaw: string | null
  /** Arrival to the upstream's last byte or the abort, in microseconds; `null` when the upstream never answered. */
  readonly latencyUs: number | null
  /** Arrival to the upstream's first body byte, in microseconds. */
  readonly ttftUs: number | null
  /** Integer pico-USD in decimal; `null`: unpriced. */
  readonly costPico: string | null
  /** Names the price, its tier and service tier; `null`: unpriced or nothing to price. */
  readonly priceId: string | null
  /**
   * The price behind `priceId`, as `Price` in JSON, on the first record of a producer that uses it: so the
   * definition reaches Postgres by the same exactly-once way as the records that rely on it.
   */
  readonly price: string | null
  /** The provider's response id where the same response may be fetched (and so reported) again. */
  readonly responseId: string | null
  /**
   * The id by which the answer named itself, where that is not `responseId`: known, to find the call by, and no reason to
   * count or not to count anything. Servers and clients choose these ids, and some choose one for all.
   */
  readonly answerId?: string | undefined
  /** The service tier the answer named, as written, bounded; nor in records of older releases. */
  readonly serviceTier?: string | undefined
  /** What the upstream said the call cost, whether it is believed or not; integer pico-USD in decimal. */
  readonly reportedCostPico?: string | undefined
  /** What our prices say of it, only beside the upstream's word. */
  readonly ownCostPico?: string | undefined
  /** These two are more than one in a hundred apart. */
  readonly costDiffers?: true | undefined
  /** Something that was counted has no price, so the cost is not all of it. */
  readonly partlyUnpriced?: true | undefined
  /** Whether the call made that response or fetched it; only beside an id, and not in records of older releases. */
  readonly responseUse?: ResponseUse | undefined
  /** Why there is no cost, one of `UNPRICED_REASONS`; not where there is one, nor in records of older releases. */
  readonly unpricedReason?: string | undefined
  /** It cost more than one call should (`CALL_ALERT_USD`): booked as it is, and to be looked at. */
  readonly suspect?: true | undefined
  /** A success status, but the body carried an error. */
  readonly failedInBody: boolean
  /** What the call did to objects that the upstream keeps; not there where it did nothing to any. */
  readonly objects?: readonly ObjectEvent[]
  /**
   * What its answer told of jobs that other calls had submitted, where that is not one job by one model, which the
   * fields above tell: a page of jobs, a file of results. At most `MAX_JOB_USES`.
   */
  readonly jobs?: readonly JobUse[] | undefined
}

/** More than any provider lists on a page. */
export const MAX_JOB_USES = 256

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

/** What one model used in a job; a job of several models has one for each, under one id. */
export type JobUse = Pick<
  CallRecord,
  | 'reportedModel'
  | 'model'
  | 'usageSource'
  | 'usage'
  | 'units'
  | 'usageRaw'
  | 'costPico'
  | 'priceId'
  | 'price'
  | 'serviceTier'
  | 'reportedCostPico'
  | 'ownCostPico'
  | 'costDiffers'
  | 'partlyUnpriced'
  | 'unpricedReason'
  | 'suspect'
> & {
  /** The job's id, or that of the file that it left. */
  readonly id: string
  /** `id` is a file's: it counts only where the file is known to be one that a job left. */
  readonly isFile?: true | undefined
}
