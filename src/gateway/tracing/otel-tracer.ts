import type { Span, SpanContext, Tracer } from '@opentelemetry/api'
import * as api from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import * as sdk from '@opentelemetry/sdk-trace'
import type { UpstreamFailure } from '../../call/call-ports.ts'
import type { CallRecord, OpenCall } from '../../call/call-record.ts'
import type { TracingConfig } from '../../config/config.ts'
import { ERRORS, type ErrorName } from '../../http/errors.ts'
import { settledWithin } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/log.ts'
import { VERSION } from '../../lib/version.ts'
import { complainTo, describeProcess } from '../../metrics/otlp/process-resource.ts'
import {
  type AttemptedUpstream,
  type AttemptSpan,
  type CallSpan,
  parseTraceParent,
  type TracedRequest,
  type Tracing,
} from './call-span.ts'
import { attributesOf, nameOfCall, operationOf, present } from './span-attributes.ts'

/** Spans at the end of a process wait no longer than this for the collector. */
const LAST_MS = 1_000

/**
 * Sends spans to a collector by OTLP over HTTP. Loaded only where tracing is on. Spans wait in memory, 2,048 of them at most (OTEL_BSP_MAX_QUEUE_SIZE), and are dropped beyond that: a collector
 * that is away, or hangs, holds up no call.
 */
export function openOtelTracer(
  config: TracingConfig,
  sent: (record: CallRecord) => void,
  log: Logger,
): Tracing {
  complainTo(log)
  const ratio = () => new sdk.TraceIdRatioBasedSampler(config.ratio)
  const root = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: ratio,
  }
  const provider = new sdk.TracerProvider({
    resource: describeProcess('tallygate'),
    sampler: config.followsParent
      ? new sdk.ParentBasedSampler({ root: root[config.sampler]() })
      : root[config.sampler](),
    spanProcessors: [
      new sdk.BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: config.url }),
        maxQueueSize: config.maxQueueSize,
        maxExportBatchSize: Math.min(512, config.maxQueueSize),
        scheduledDelayMillis: config.scheduleDelayMs,
      }),
    ],
  })
  const tracer = provider.getTracer('tallygate', VERSION)
  return {
    tracer: { begin: (request) => new TracedCall(tracer, sent, request) },
    close: () => settledWithin(provider.shutdown(), LAST_MS),
  }
}

/** Milliseconds since 1970 of a monotonic time. */
function epochMs(monotonicMs: number): number {
  return performance.timeOrigin + monotonicMs
}

class TracedCall implements CallSpan {
  readonly #tracer: Tracer
  readonly #sent: (record: CallRecord) => void
  readonly #span: Span
  readonly #method: string

  constructor(
    tracer: Tracer,
    sent: (record: CallRecord) => void,
    { method, headers, arrivedAt }: TracedRequest,
  ) {
    this.#tracer = tracer
    this.#sent = sent
    this.#method = method
    this.#span = tracer.startSpan(
      method,
      { kind: api.SpanKind.SERVER, startTime: epochMs(arrivedAt) },
      parentContext(headers),
    )
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  attempt({ method, path }: OpenCall, { origin }: AttemptedUpstream): AttemptSpan {
    const { hostname: host, port, protocol } = new URL(origin)
    const span = this.#tracer.startSpan(
      method,
      {
        kind: api.SpanKind.CLIENT,
        attributes: present({
          'http.request.method': method,
          'url.path': path,
          'server.address': host,
          'server.port': port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
          'gen_ai.operation.name': operationOf(path),
        }),
      },
      api.trace.setSpan(api.ROOT_CONTEXT, this.#span),
    )
    return new TracedAttempt(span)
  }

  ended(record: CallRecord): void {
    const span = this.#span
    if (span.isRecording()) {
      span.updateName(nameOfCall(record))
      span.setAttributes(attributesOf(record))
      if (record.outcome === 'upstream_error' || (record.status ?? 0) >= 500) {
        span.setStatus({ code: api.SpanStatusCode.ERROR })
        span.setAttribute('error.type', record.status === null ? record.outcome : `${record.status}`)
      }
      this.#sent(record)
    }
    span.end(epochMs(performance.now()))
  }

  refused(error: ErrorName | null): void {
    const span = this.#span
    const status = error === null ? null : ERRORS[error].status
    span.setAttributes(
      present({
        'http.request.method': this.#method,
        'http.response.status_code': status,
        'error.type': error ?? 'client_left',
        'tallygate.outcome': 'refused',
      }),
    )
    // A client's own fault is none of a server's span (the HTTP conventions).
    if (status !== null && status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
    span.end(epochMs(performance.now()))
  }
}

class TracedAttempt implements AttemptSpan {
  readonly #span: Span
  #isOver = false
  readonly headers: readonly string[]

  constructor(span: Span) {
    this.#span = span
    this.headers = headersOf(span.spanContext())
  }

  ended(status: number | null, cause: UpstreamFailure | null): void {
    if (this.#isOver) return
    this.#isOver = true
    const span = this.#span
    const isError = cause !== null || (status !== null && status >= 400)
    span.setAttributes(
      present({
        'http.response.status_code': status,
        'error.type': isError ? (cause ?? `${status}`) : null,
      }),
    )
    if (isError) span.setStatus({ code: api.SpanStatusCode.ERROR })
    span.end(epochMs(performance.now()))
  }
}

function headersOf({ traceId, spanId, traceFlags, traceState }: SpanContext): readonly string[] {
  const flags = traceFlags.toString(16).padStart(2, '0')
  const state = traceState?.serialize() ?? ''
  return ['traceparent', `00-${traceId}-${spanId}-${flags}`, ...(state === '' ? [] : ['tracestate', state])]
}

/** The client's span, where it named one. */
function parentContext({ traceparent, tracestate }: TracedRequest['headers']) {
  const parent = parseTraceParent(traceparent)
  if (parent === null) return api.ROOT_CONTEXT
  const state = typeof tracestate === 'string' ? { traceState: api.createTraceState(tracestate) } : {}
  return api.trace.setSpanContext(api.ROOT_CONTEXT, {
    ...{ traceId: parent.traceId, spanId: parent.spanId, traceFlags: parent.flags },
    isRemote: true,
    ...state,
  })
}
