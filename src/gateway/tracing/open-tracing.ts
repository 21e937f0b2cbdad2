import type { TracingConfig } from '../../config/config.ts'
import type { Logger } from '../../lib/log.ts'
import type { Tracing } from './call-span.ts'

/** `null`: no spans are made, and nothing of OpenTelemetry is loaded. */
export async function openTracing(config: TracingConfig | null, log: Logger): Promise<Tracing | null> {
  if (config === null) return null
  const { openOtelTracer } = await import('./otel-tracer.ts')
  return await openOtelTracer(config, log)
}
