import type { OpenCall, Outcome } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import type { UpperUse } from '../../limits/engine/limiter.ts'
import type { Dialect, RequestContext } from '../../providers/dialect.ts'
import type { EndpointContext } from '../routing/route.ts'
import type { AttemptState } from './attempt-state.ts'

/** Whose call it is, as far as its price depends on that. */
export interface NamedClient {
  /** `null`: no longer known, so no markup of the client's applies. */
  readonly clientName: string | null
}

/** Token counts by our own tokenizer, for what the upstream did not report. */
export interface Estimates {
  /**
   * Prompt tokens; `null`: this endpoint has none to count.
   *
   * @param reported what the upstream has said of them so far, which stands unless more may have come
   */
  estimateInput(reported: number | null): Promise<number | null>
  /** Tokens of what was delivered; `null`: it could not be read. */
  estimateOutput(): Promise<number | null>
}

/** How a call ended, as the stages that it passed saw it: all that its record is made of. */
export interface CallResult {
  readonly call: OpenCall
  readonly client: NamedClient
  readonly endpoint: EndpointContext
  /** The upstream's HTTP status; `null`: it never answered. */
  readonly status: number | null
  readonly outcome: Outcome
  /** `null`: the answer was not read, or could not be. */
  readonly observation: Observation | null
  readonly latencyUs: number | null
  readonly ttftUs: number | null
  /** The lengths of bodies; absent: it calls no tool. */
  readonly bytes?: { readonly request: number; readonly answer: number } | undefined
  /** `null`: this endpoint's answers carry no tokens, so their absence is nothing to estimate. */
  readonly estimates: Estimates | null
  /** What would have used something did not go upstream: a session's words, or a call whose client left; absent: it did. */
  readonly isUnsaid?: boolean
}

/** What is known of a call before its answer begins. */
export interface CallContext {
  /** Replaced, as `request`, when a body that is still on its way names the call's model. */
  call: OpenCall
  request: RequestContext
  readonly client: NamedClient
  /** Monotonic milliseconds at the request's arrival. */
  readonly arrivedAt: number
  /** `null`: the path is known to be free. */
  readonly dialect: Dialect | null
  /** The request's body where it was read, for an estimate of its tokens. */
  readonly requestBody: Buffer | null
  /** Length of the request's body where it was read, also where it was too long to be kept; else 0. */
  readonly requestBytes: number
  /** How long the sound in it plays, in milliseconds, once all of it has passed; `null`: not known. Absent: it has none. */
  readonly soundMs?: (() => number | null) | undefined
  /** The service tiers that the request asks for, as written; `null`, absent: none. */
  readonly askedTiers?: readonly string[] | null
  /** What limits take it to use at most; `null`: no one estimates that. */
  readonly upperUse: (() => UpperUse) | null
  /** Of a call by one of the `routes`: which attempt it is; absent: there is one. */
  readonly attempt?: AttemptState | undefined
}
