import type { OpenCall } from '../../call/call-record.ts'
import type { Dialect, RequestContext } from '../../providers/dialect.ts'
import type { UpperUse } from '../limits/limited-call.ts'
import type { NamedClient } from './call-result.ts'

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
  /** What limits take it to use at most; `null`: no one estimates that. */
  readonly upperUse: (() => UpperUse) | null
}
