import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../http/errors.ts'

/** All routes registered after this, unknown paths included, need the operator's token as a bearer token. */
export function requireToken(app: FastifyInstance, token: string): void {
  const digest = digestOf(token)
  app.addHook('onRequest', async (request, reply) => {
    const sent = /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (sent !== undefined && timingSafeEqual(digestOf(sent), digest)) return
    reply.header('www-authenticate', 'Bearer realm="tallygate"')
    throw new GatewayError('invalid_api_key', {
      message: 'Send the operator\'s token, ADMIN_TOKEN, as "Authorization: Bearer <token>".',
    })
  })
}

/** Who made a request, for the audit. There is one operator's token; the address tells its users apart. */
export function tokenHolder(request: FastifyRequest): string {
  return `ADMIN_TOKEN from ${request.ip}`
}

/** Comparing digests, which have one length and share no prefix with the token, leaks nothing by its time. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
