import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../http/errors.ts'
import { Guesses, isUnguessable } from '../http/guesses.ts'
import { ENVIRONMENT_TOKEN } from '../keys/operations/tokens.ts'
import type { CheckedTokens } from '../keys/tokens/checked-tokens.ts'
import type { TokenHolder } from '../keys/tokens/operator-tokens.ts'
import type { Actor } from '../operations/audit/audit-table.ts'
import { mayDo, type Role } from '../operations/operation.ts'
import { stored } from './admin-answers.ts'

/** Wrong tokens from one address in a minute. A page with an old token sends some before it asks for another. */
const WRONG_A_MINUTE = 30

const ENVIRONMENT_HOLDER: TokenHolder = { name: ENVIRONMENT_TOKEN, role: 'admin' }

const HOLDERS = new WeakMap<FastifyRequest, TokenHolder>()

/** All routes registered after this, unknown paths included, need an operator's token as a bearer token. */
export function requireToken(
  app: FastifyInstance,
  adminToken: string,
  tokens: CheckedTokens<TokenHolder>,
): void {
  const digest = digestOf(adminToken)
  const guesses = new Guesses(WRONG_A_MINUTE)
  app.addHook('onRequest', async (request, reply) => {
    const sent = bearerOf(request)
    const wait = guesses.waitSeconds(request.ip)
    // Without a token nothing is guessed.
    if (wait !== null && sent !== null && !(isAdmin(sent) ? isUnguessable(sent) : tokens.mayBeAsked(sent)))
      throw tooMany(wait)
    const holder = sent === null ? null : await holderOf(sent)
    if (holder !== null) {
      HOLDERS.set(request, holder)
      return
    }
    if (sent !== null) guesses.count(request.ip)
    reply.header('www-authenticate', 'Bearer realm="tallygate"')
    throw new GatewayError('invalid_api_key', {
      message: 'Send an operator\'s token, such as ADMIN_TOKEN, as "Authorization: Bearer <token>".',
    })
  })

  function isAdmin(sent: string): boolean {
    return timingSafeEqual(digestOf(sent), digest)
  }

  async function holderOf(sent: string): Promise<TokenHolder | null> {
    return isAdmin(sent) ? ENVIRONMENT_HOLDER : await stored(tokens.find(sent))
  }
}

/** The bearer token of a request; `null`: it has none. */
export function bearerOf({ headers }: FastifyRequest): string | null {
  return /^bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1] ?? null
}

/** @param seconds Until another guess is looked at. */
export function tooMany(seconds: number): GatewayError {
  return new GatewayError('too_many_guesses', { headers: { 'retry-after': `${seconds}` } })
}

/**
 * Who made a request, for the audit.
 *
 * @throws {GatewayError} `role_required`: the token's role does not include that one.
 */
export function operatorOf(request: FastifyRequest, needed: Role): Actor {
  const holder = HOLDERS.get(request)
  if (holder === undefined) throw new GatewayError('invalid_api_key')
  const { name, role } = holder
  if (!mayDo(role, needed))
    throw new GatewayError('role_required', {
      message: `This needs a token of the role ${needed}, and ${name} has the role ${role}.`,
    })
  return { name, from: request.ip, who: `${name} from ${request.ip}` }
}

/** Comparing digests, which have one length and share no prefix with the token, leaks nothing by its time. */
function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}
