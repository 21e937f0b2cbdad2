import type { HrTime } from '@opentelemetry/api'
import { OTLPExporterBase } from '@opentelemetry/otlp-exporter-base'
import {
  convertLegacyHttpOptions,
  createOtlpHttpExportDelegate,
} from '@opentelemetry/otlp-exporter-base/node-http'
import { MetricsExporterMetricsHelper, ProtobufMetricsSerializer } from '@opentelemetry/otlp-transformer'
import {
  MeterProvider,
  type MetricProducer,
  PeriodicExportingMetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics'
import { settledWithin } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { VERSION } from '../../lib/version.ts'
import type { ProcessMetrics } from '../figures.ts'
import { metricDataOf } from './metric-data.ts'
import { complainTo, describeProcess } from './process-resource.ts'

/** The last figures of a process wait no longer than this for the collector. */
const LAST_MS = 1_000

export interface MetricsSendingOptions {
  /** The collector's address for metrics by OTLP over HTTP, in protocol buffers. */
  readonly url: string
  readonly eachMs: number
  /** At most `eachMs`. */
  readonly withinMs: number
}

/** ProcessMetrics on their way to a collector. */
export interface MetricsSending {
  /** Sends them a last time; waits a second at most. */
  close(): Promise<void>
}

/** Sends the figures of this process to a collector by OTLP over HTTP. Loaded only where there is one. */
export function sendMetrics(
  { url, eachMs, withinMs }: MetricsSendingOptions,
  name: string,
  figures: () => Promise<ProcessMetrics>,
  log: Logger,
): MetricsSending {
  complainTo(log)
  const resource = describeProcess(name)
  const startTime = hrTime(performance.timeOrigin)
  const producer: MetricProducer = {
    async collect() {
      const metrics = metricDataOf(await figures(), { startTime, endTime: hrTime(Date.now()) })
      const scope = { name: 'tallygate', version: VERSION }
      return { resourceMetrics: { resource, scopeMetrics: [{ scope, metrics }] }, errors: [] }
    },
  }
  const reader = new PeriodicExportingMetricReader({
    exporter: new MetricsExporter(url),
    metricProducers: [producer],
    exportIntervalMillis: eachMs,
    exportTimeoutMillis: withinMs,
  })
  const provider = new MeterProvider({ resource, readers: [reader] })
  return { close: () => settledWithin(provider.shutdown(), LAST_MS) }
}

/** The library's own exporter of this kind is one more package, of these three parts. */
class MetricsExporter extends OTLPExporterBase<ResourceMetrics> {
  constructor(url: string) {
    const headers = { 'Content-Type': 'application/x-protobuf' }
    const options = convertLegacyHttpOptions({ url }, 'METRICS', 'v1/metrics', headers)
    super(
      createOtlpHttpExportDelegate(
        options,
        ProtobufMetricsSerializer,
        'otlp_http_metric_exporter',
        MetricsExporterMetricsHelper,
        undefined,
      ),
    )
  }
}

/** Seconds and nanoseconds of a time in milliseconds since 1970. */
function hrTime(atMs: number): HrTime {
  const seconds = Math.floor(atMs / 1_000)
  return [seconds, Math.round((atMs - seconds * 1_000) * 1_000_000)]
}
