import type { FastifyInstance } from 'fastify'
import { NO_PARAMETERS } from '../http/listener.ts'

interface MetricsPage {
  readonly contentType: string
  /** `null`: not all of them are known. */
  readonly render: () => Promise<string | null>
}

export interface MetricsOptions extends MetricsPage {
  /** For scrapers that read OpenMetrics; absent, `null`: there is no more in it. */
  readonly traced?: MetricsPage | null
}

const OPEN_METRICS = 'application/openmetrics-text'

/**
 * `GET /metrics`, in Prometheus's text format, or as OpenMetrics. It needs no token, as it names no client and no key. Of a part of the
 * processes there is no answer: their counters would fall, which is taken for a restart.
 */
export function metrics(app: FastifyInstance, plain: MetricsOptions): void {
  app.get('/metrics', NO_PARAMETERS, async ({ headers }, reply) => {
    const { traced } = plain
    const page = traced && headers.accept?.includes(OPEN_METRICS) === true ? traced : plain
    const text = await page.render()
    if (text !== null) return reply.type(page.contentType).send(text)
    return reply.code(503).type('text/plain').send('A process of this gateway does not answer.\n')
  })
}
