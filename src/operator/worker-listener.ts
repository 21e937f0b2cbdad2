import Fastify, { type FastifyServerOptions, LogController } from 'fastify'
import { health, NO_SCHEMAS, requireHost } from '../http/listener.ts'
import { type MetricsOptions, metrics } from './metrics.ts'

export interface WorkerListenerOptions {
  readonly host: string
  /** 0: any free one. */
  readonly port: number
  /** What the worker cannot do now, in a sentence; `null`: it is well. */
  readonly problem: () => Promise<string | null>
  readonly metrics: MetricsOptions
  readonly log: NonNullable<FastifyServerOptions['loggerInstance']>
}

/** How old the answer of `/readyz` may be: a check of a container must not ask the stores more than once a second. */
const CHECK_EACH_MS = 1_000

/**
 * `/healthz`, `/readyz` and `/metrics` of a worker, for its container and for Prometheus. It takes nothing else and has
 * no token: what it says names no client and no key.
 *
 * @returns The port. @throws When the address is taken.
 */
export async function listenForOperators(options: WorkerListenerOptions): Promise<{
  readonly port: number
  close(): Promise<void>
}> {
  const { host, port, problem, log } = options
  let advice: string | null = 'the stores were not asked yet'
  let isStopped = false
  const check = async (): Promise<void> => {
    advice = await problem().catch((error: unknown) => String(error))
  }
  const app = Fastify({
    schemaController: NO_SCHEMAS,
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    http: { requireHostHeader: false },
  })
  requireHost(app)
  let checkedAtMs = Number.NEGATIVE_INFINITY
  app.addHook('onRequest', async ({ url }) => {
    if (!url.startsWith('/readyz') || performance.now() - checkedAtMs < CHECK_EACH_MS) return
    checkedAtMs = performance.now()
    await check()
  })
  health(app, '', () => ({
    ready: advice === null && !isStopped,
    degraded: advice === null ? [] : ['counting'],
    ...(advice === null ? {} : { advice: [advice] }),
  }))
  metrics(app, options.metrics)
  await app.listen({ host, port })
  const address = app.server.address()
  return {
    port: address === null || typeof address === 'string' ? port : address.port,
    async close() {
      isStopped = true
      app.server.closeAllConnections()
      await app.close()
    },
  }
}
