import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify'
import { sendError } from './answer-error.ts'
import type { CallRefusal } from './errors.ts'

/** The answer says whether calls are accepted, and what is unavailable. */
export interface Readiness {
  readonly ready: boolean
  /**
   * The parts that do not work fully: `redis`, `postgres`, `counting`, `keys`, `journal`, `replica`, `stopping`, ....
   */
  readonly degraded: readonly string[]
  /** Sentences on what to do about it; absent: the names say enough. */
  readonly advice?: readonly string[]
}

/**
 * For routes without parameters: one that is sent is refused by its name, as it is everywhere else, since a misspelt
 * one that was ignored would seem to have worked.
 */
export const NO_PARAMETERS = {
  onRequest(request: FastifyRequest, reply: FastifyReply, done: () => void): void {
    const [param] = Object.keys(Object(request.query))
    if (param === undefined) done()
    else sendError(reply, 'invalid_request', { param, message: `There is no parameter ${param}.` })
  },
}

/** `GET /healthz` (the process runs) and `GET /readyz` (calls are accepted). Neither needs a key. */
export function health(app: FastifyInstance, prefix: string, readiness: () => Readiness): void {
  app.get(`${prefix}/healthz`, NO_PARAMETERS, (_request, reply) => reply.send({ status: 'ok' }))
  app.get(`${prefix}/readyz`, NO_PARAMETERS, (_request, reply) => {
    const { ready, ...state } = readiness()
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'unavailable', ...state })
  })
}

/**
 * For a listener whose routes have no JSON schemas: Fastify then loads neither of the compilers that it has for them.
 * That is 15 ms of every start. A route with a schema is refused when it is added.
 */
export const NO_SCHEMAS: NonNullable<FastifyServerOptions['schemaController']> = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
}

function refuse(): never {
  throw new Error('this listener compiles no schemas: check what a route takes in its handler')
}

/** Every client sends a Host header. One that does not may be an attacker, so its connection is closed. */
export const NO_HOST = {
  error: 'invalid_request',
  detail: { message: 'The request has no Host header.', headers: { connection: 'close' } },
} as const satisfies CallRefusal

/** Tells whether a request lacks its Host header; HTTP/1.0 needs none. */
export function lacksHost({ headers, httpVersion }: IncomingMessage): boolean {
  return headers.host === undefined && httpVersion !== '1.0'
}

/**
 * Refuses requests without a Host header. The server must have `requireHostHeader: false`, since Node would
 * answer without a body; this answer says what is wrong.
 */
export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (lacksHost(request.raw)) sendError(reply, NO_HOST.error, NO_HOST.detail)
    else done()
  })
}
