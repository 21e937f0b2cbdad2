import type { CallToLimit, LimitRefusal, Reservation } from './limited-call.ts'

/** The figures of `x-ratelimit-*`, of the limit of which least is left. */
export interface RateHeader {
  readonly limit: number
  readonly remaining: number
  /** Milliseconds until the whole limit is free again, if no call comes. */
  readonly resetMs: number
}

/** `null`: the client has no such limit. */
export interface RateHeaders {
  readonly requests: RateHeader | null
  readonly tokens: RateHeader | null
}

/** For metrics and readiness. */
export interface LimiterStats {
  /** With Redis, since the start, and those of them that failed. */
  readonly exchanges: number
  readonly exchangeFailures: number
  /** Calls that wait now, for other gateways or for running calls. */
  readonly waiting: number
  /** Redis is away, so this process goes on with its share. */
  readonly isDegraded: boolean
}

/** The limits of a gateway process. */
export interface Limiter {
  /** Whether any limit holds for the client: if not, nothing below needs to be asked. */
  limits(clientId: string, keyId: string): boolean
  /**
   * Whether a hard budget that refuses models without a price holds for the call.
   */
  refusesUnpriced(clientId: string, keyId: string, model: string | null): boolean
  /**
   * Takes what the call needs. A promise only where this process holds too little and the other gateways
   * have to be asked. `null`: no limit holds for this call.
   */
  admit(call: CallToLimit): Reservation | LimitRefusal | null | Promise<Reservation | LimitRefusal | null>
  /** As of now, for the answer's headers. */
  rates(clientId: string, keyId: string, model: string | null): RateHeaders
  /** The same of one limit, of requests, tokens or calls at once; `null`: there is no such limit. */
  rateOf(clientId: string, limitId: string): RateHeader | null
  stats(): LimiterStats
}
