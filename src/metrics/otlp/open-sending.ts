import type { Logger } from '../../lib/logger.ts'
import type { ProcessMetrics } from '../figures.ts'
import type { MetricsSending, MetricsSendingOptions } from './send-metrics.ts'

/**
 * @param name Of the program, unless OTEL_SERVICE_NAME says another.
 * @returns `null`: they are sent nowhere, and nothing of OpenTelemetry is loaded.
 */
export async function openSending(
  options: MetricsSendingOptions | null,
  name: string,
  figures: () => Promise<ProcessMetrics>,
  log: Logger,
): Promise<MetricsSending | null> {
  if (options === null) return null
  const { sendMetrics } = await import('./send-metrics.ts')
  return sendMetrics(options, name, figures, log)
}
