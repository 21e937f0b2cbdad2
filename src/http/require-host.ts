import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { sendError } from './answer-error.ts'
import type { CallRefusal } from './errors.ts'

/** Every client sends a Host header. One that does not may be an attacker, so its connection is closed. */
export const NO_HOST = {
  error: 'invalid_request',
  detail: { message: 'The request has no Host header.', headers: { connection: 'close' } },
} as const satisfies CallRefusal

/** Whether a request lacks its Host header; HTTP/1.0 needs none. */
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
