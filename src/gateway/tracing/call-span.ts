import type { UpstreamFailure } from '../../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import type { ErrorName } from '../../http/errors.ts'

/** The span of one call, from its request's arrival to its record. It never throws, and waits for nothing. */
export interface CallSpan {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** Begins a span of one request to an upstream; a call that is tried again has several. */
  attempt(call: OpenCall, upstream: AttemptedUpstream): AttemptSpan
  /** The call has its record. */
  ended(record: CallRecord): void
  /** It did not go upstream; `null`: its client left. */
  refused(error: ErrorName | null): void
}

export interface AttemptedUpstream {
  readonly origin: string
}

/** The span of one request to an upstream. */
export interface AttemptSpan {
  /** `traceparent`, and `tracestate` where there is one, in place of the client's: name, value, name, value. */
  readonly headers: readonly string[]
  /** `status` null: there was no answer. `cause` null: it did not fail. */
  ended(status: number | null, cause: UpstreamFailure | null): void
}

/** Makes spans of calls, where tracing is on. */
export interface CallTracer {
  begin(request: TracedRequest): CallSpan
}

/** A tracer at work. */
export interface Tracing {
  readonly tracer: CallTracer
  /** After the last call has its record; waits a second at most for the collector. */
  close(): Promise<void>
}

export interface TracedRequest {
  readonly method: string
  /** As far as the client sent one. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** Monotonic milliseconds. */
  readonly arrivedAt: number
}

/** The position in a trace that a request was sent from. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly flags: number
}

/** W3C Trace Context. A later version may say more behind what is known of it. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-|$)/
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/** `null`: the header is missing, or says nothing that holds. */
export function parseTraceParent(header: unknown): TraceParent | null {
  if (typeof header !== 'string') return null
  const [, version = 'ff', traceId = '', spanId = '', flags = '', end] = FORM.exec(header) ?? []
  if (version === 'ff' || (version === '00' && end === '-')) return null
  if (traceId === NO_TRACE || spanId === NO_SPAN) return null
  return { traceId, spanId, flags: Number.parseInt(flags, 16) }
}

/** The trace that a client's request belongs to, for the record of its call. */
export function traceIdIn({ traceparent }: TracedRequest['headers']): string | undefined {
  return traceparent === undefined ? undefined : parseTraceParent(traceparent)?.traceId
}
