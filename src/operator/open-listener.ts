import type { ServerOptions } from 'node:https'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import { answerClientError } from '../http/answer-error.ts'
import { NO_SCHEMAS, requireHost } from '../http/listener.ts'
import { answerError, protect, readJsonOnly } from './admin-answers.ts'
import { allowMethods } from './allow-methods.ts'

/** Bodies of people are small. */
const BODY_LIMIT_BYTES = 64 * 1024
const REQUEST_TIMEOUT_MS = 30_000
/** Names are in paths, some of their characters as three or more. */
const LONGEST_PARAMETER = 4_096

/**
 * A listener beside the one of calls, not yet listening: it answers JSON, and tells browsers to do nothing else with it.
 *
 * @param tls `null`: plain HTTP.
 */
export function openListener(
  logger: NonNullable<FastifyServerOptions['loggerInstance']>,
  tls: Pick<ServerOptions, 'cert' | 'key'> | null = null,
): FastifyInstance {
  const http = { requireHostHeader: false } as const
  const app: FastifyInstance = Fastify({
    schemaController: NO_SCHEMAS,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    forceCloseConnections: 'idle' as const,
    ...(tls === null ? { http } : { https: { ...http, ...tls } }),
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, _request, reply) => {
      protect(reply)
      answerError(error, reply)
    },
  } as FastifyServerOptions)
  readJsonOnly(app)
  app.setErrorHandler<FastifyError>((error, _request, reply) => answerError(error, reply))
  allowMethods(app)
  app.addHook('onRequest', async (_request, reply) => protect(reply))
  requireHost(app)
  return app
}
