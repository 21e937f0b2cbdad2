import type { FastifyInstance } from 'fastify'
import { NO_PARAMETERS } from '../http/listener.ts'

export interface MetricsOptions {
  readonly contentType: string
  /** `null`: not all of them are known. */
  readonly render: () => Promise<string | null>
}

/**
 * `GET /metrics`, in Prometheus's text format. It needs no token, as it names no client and no key. Of a part of the
 * processes there is no answer: their counters would fall, which is taken for a restart.
 */
export function metrics(app: FastifyInstance, { contentType, render }: MetricsOptions): void {
  app.get('/metrics', NO_PARAMETERS, async (_request, reply) => {
    const text = await render()
    if (text !== null) return reply.type(contentType).send(text)
    return reply.code(503).type('text/plain').send('A process of this gateway does not answer.\n')
  })
}
