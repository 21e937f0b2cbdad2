import type { FastifyInstance } from 'fastify'
import { buildOpenApi, type OpenApiFacts } from './openapi/document.ts'

/** `GET /openapi.json`: OpenAPI 3.1 of everything that the gateway itself answers, on both listeners. */
export function openapi(app: FastifyInstance, facts: OpenApiFacts): void {
  const document = JSON.stringify(buildOpenApi(facts))
  app.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(document),
  )
}
