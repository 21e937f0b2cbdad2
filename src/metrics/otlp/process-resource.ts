import { hostname } from 'node:os'
import * as api from '@opentelemetry/api'
import * as resources from '@opentelemetry/resources'
import type { Logger } from '../../lib/logger.ts'
import { atMostEvery } from '../../lib/repeat.ts'
import { VERSION } from '../../lib/version.ts'

const COMPLAIN_EACH_MS = 60_000

/** This process as a collector knows it, by a `name` of ours. The operator's variables go first. */
export function describeProcess(name: string): resources.Resource {
  const { resourceAttributesEnvDetector, serviceNameEnvDetector } = resources
  const named = resources.resourceFromAttributes({
    'service.name': name,
    'service.version': VERSION,
    'service.instance.id': `${hostname()}:${process.pid}`,
  })
  const own = resources.detectResources({
    detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector],
  })
  return resources.defaultResource().merge(named).merge(own)
}

/** Has the library log what it cannot send, once a minute. */
export function complainTo(log: Logger): void {
  const gate = atMostEvery(COMPLAIN_EACH_MS)
  const complain = (message: string, ...more: readonly unknown[]) => {
    if (!gate.passes()) return
    const reason = [message, ...more].map(String).join(' ').slice(0, 500)
    log.warn({ event: 'tracing.failed', reason }, 'spans or metrics were not sent')
  }
  const ignore = () => {}
  api.diag.setLogger(
    { error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: api.DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
}
