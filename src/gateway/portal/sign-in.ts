import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { CallerLookup } from '../../call/call-ports.ts'
import { GatewayError } from '../../http/errors.ts'
import { Guesses, isUnguessable } from '../../http/guesses.ts'
import { NO_PARAMETERS } from '../../http/listener.ts'
import { CheckedTokens } from '../../keys/tokens/checked-tokens.ts'
import {
  createPortalToken,
  findSignedIn,
  revokePortalToken,
  type SignedIn,
} from '../../keys/tokens/portal-tokens.ts'
import { stored } from '../../operator/admin-answers.ts'
import { bearerOf, tooMany } from '../../operator/admin-token.ts'
import type { Postgres } from '../../store/connection/postgres.ts'

const TOKEN_SECONDS = 12 * 3_600
/** Of one address. */
const WRONG_KEYS_A_MINUTE = 10
/** A page whose token has ended sends some before it asks for the key again. */
const WRONG_TOKENS_A_MINUTE = 60

export interface SignInOptions {
  /** From memory; an unknown key waits for one query, shared by all that wait. */
  readonly findCaller: (key: string) => CallerLookup | Promise<CallerLookup>
  readonly polls: Postgres
  /** At least one; the first hashes new tokens. */
  readonly peppers: readonly string[]
}

/** Who asks, behind `requireSignIn`. */
export const SIGNED_IN = new WeakMap<FastifyRequest, SignedIn>()

/** `POST /session` exchanges a client's key, which the page does not keep, for a token that can only read. */
export function signIn(app: FastifyInstance, { findCaller, polls, peppers }: SignInOptions): void {
  const [pepper] = peppers
  if (pepper === undefined) throw new Error('there is no secret to hash new tokens with')
  const guesses = new Guesses(WRONG_KEYS_A_MINUTE)
  app.post('/session', NO_PARAMETERS, async (request, reply) => {
    const key = bearerOf(request)
    const wait = guesses.waitSeconds(request.ip)
    if (wait !== null && (key === null || !isUnguessable(key))) throw tooMany(wait)
    const found: CallerLookup = key === null ? { kind: 'unknown' } : await findCaller(key)
    switch (found.kind) {
      case 'active': {
        const { clientId, keyId } = found.caller
        const order = { clientId, keyId, expiresInSeconds: TOKEN_SECONDS }
        const made = await stored(createPortalToken(polls, order, pepper))
        if (made === null) throw new GatewayError('invalid_api_key')
        const { token, client, expiresAt } = made
        return reply.code(201).send({ token, client, expires_at: expiresAt.toISOString() })
      }
      case 'unavailable':
        throw new GatewayError('storage_unavailable')
      case 'unknown':
      case 'token_refused':
      case 'key_inactive':
      case 'client_disabled':
        if (wait !== null) throw tooMany(wait)
        guesses.count(request.ip)
        if (found.kind === 'key_inactive' || found.kind === 'client_disabled')
          throw new GatewayError(found.kind)
        reply.header('www-authenticate', 'Bearer realm="tallygate"')
        throw new GatewayError('invalid_api_key')
      default:
        return found satisfies never
    }
  })
}

/** All routes registered after this need a token of the page. */
export function requireSignIn(app: FastifyInstance, { polls, peppers }: SignInOptions): void {
  const guesses = new Guesses(WRONG_TOKENS_A_MINUTE)
  const tokens = new CheckedTokens(['portal', 'member'], peppers, (digests) => findSignedIn(polls, digests))
  app.addHook('onRequest', async (request, reply) => {
    const token = bearerOf(request)
    const wait = guesses.waitSeconds(request.ip)
    if (wait !== null && !(token !== null && tokens.mayBeAsked(token))) throw tooMany(wait)
    const holder = token === null ? null : await stored(tokens.find(token))
    if (holder !== null) {
      SIGNED_IN.set(request, holder)
      return
    }
    if (token !== null) guesses.count(request.ip)
    reply.header('www-authenticate', 'Bearer realm="tallygate"')
    throw new GatewayError('invalid_api_key', {
      message: 'The sign-in has ended. Sign in again with an API key.',
    })
  })
  app.delete('/session', NO_PARAMETERS, async (request, reply) => {
    const holder = SIGNED_IN.get(request)
    if (holder !== undefined) await stored(revokePortalToken(polls, holder.tokenId))
    return reply.code(204).send()
  })
}
