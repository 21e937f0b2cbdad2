import type { FastifyInstance } from 'fastify'

/** Whether calls are accepted, and what is unavailable. */
export interface Readiness {
  readonly ready: boolean
  /** What does not work fully: `redis`, `postgres`, `counting`, `keys`, `journal`, `replica`, `stopping`, .... */
  readonly degraded: readonly string[]
  /** What to do about it, in sentences; absent: the names say enough. */
  readonly advice?: readonly string[]
}

/** `GET /healthz` (the process runs) and `GET /readyz` (calls are accepted). Neither needs a key. */
export function health(app: FastifyInstance, prefix: string, readiness: () => Readiness): void {
  app.get(`${prefix}/healthz`, (_request, reply) => reply.send({ status: 'ok' }))
  app.get(`${prefix}/readyz`, (_request, reply) => {
    const { ready, ...state } = readiness()
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'unavailable', ...state })
  })
}
