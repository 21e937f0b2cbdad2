import type { FastifyInstance } from 'fastify'

export interface MetricsOptions {
  readonly contentType: string
  readonly render: () => Promise<string>
}

/** `GET /metrics`, in Prometheus's text format. It needs no token, as it names no client and no key. */
export function metrics(app: FastifyInstance, { contentType, render }: MetricsOptions): void {
  app.get('/metrics', async (_request, reply) => reply.type(contentType).send(await render()))
}
