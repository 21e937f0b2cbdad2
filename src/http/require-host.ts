import type { FastifyInstance } from 'fastify'
import { sendError } from './answer-error.ts'

/**
 * Refuses requests of HTTP/1.1 without a Host header. The server must have `requireHostHeader: false`: Node would answer
 * without a body, and ours says what is wrong.
 */
export function requireHost(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.raw.headers.host !== undefined || request.raw.httpVersion === '1.0') {
      done()
      return
    }
    // Who leaves out what every client sends may be an attacker between two readers: nothing more is read of it.
    reply.header('connection', 'close')
    sendError(reply, 'invalid_request', { message: 'The request has no Host header.' })
  })
}
