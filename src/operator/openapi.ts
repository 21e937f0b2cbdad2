import type { FastifyInstance } from 'fastify'
import { buildOpenApi, type OpenApiContext } from './openapi/document.ts'

/** `GET /openapi.json`: OpenAPI 3.1 of everything that the gateway itself answers, on both listeners. */
export function openapi(app: FastifyInstance, context: OpenApiContext): void {
  const document = JSON.stringify(buildOpenApi(context))
  app.get('/openapi.json', async (_request, reply) =>
    reply.type('application/json; charset=utf-8').send(document),
  )
}
