import type { CallRecord } from '../../call/call-record.ts'
import type { TracingConfig } from '../../config/config.ts'
import type { Logger } from '../../lib/log.ts'
import type { Tracing } from './call-span.ts'

/**
 * @param sent A call has its record, and its trace is sent.
 * @returns `null`: no spans are made, and nothing of OpenTelemetry is loaded.
 */
export async function openTracing(
  config: TracingConfig | null,
  sent: (record: CallRecord) => void,
  log: Logger,
): Promise<Tracing | null> {
  if (config === null) return null
  const { openOtelTracer } = await import('./otel-tracer.ts')
  return openOtelTracer(config, sent, log)
}
