import type { FastifyInstance } from 'fastify'
import { NO_PARAMETERS } from '../http/listener.ts'
import { buildOpenApi, type OpenApiContext } from './openapi/document.ts'

/** `GET /openapi.json`: OpenAPI 3.1 of everything that the gateway itself answers, on both listeners. */
export function openapi(app: FastifyInstance, context: OpenApiContext): void {
  let document: string | null = null
  app.get('/openapi.json', NO_PARAMETERS, async (_request, reply) => {
    document ??= JSON.stringify(buildOpenApi(context))
    return reply.type('application/json; charset=utf-8').send(document)
  })
}
