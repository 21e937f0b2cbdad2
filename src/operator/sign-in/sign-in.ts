import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OidcConfig } from '../../config/yaml/sign-in-config.ts'
import type { TokenKind } from '../../domain/api-key.ts'
import { hashKey, isTokenShaped } from '../../domain/api-key.ts'
import { openText, sealText } from '../../domain/sealed-text.ts'
import { GatewayError } from '../../http/errors.ts'
import { Guesses } from '../../http/guesses.ts'
import { NO_PARAMETERS } from '../../http/listener.ts'
import type { Logger } from '../../lib/logger.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import { stored } from '../admin-answers.ts'
import { bearerOf, tooMany } from '../admin-token.ts'
import type { BegunSignIn, SignedInPerson, SignInPlace, SignInProvider } from './provider.ts'

/** From being sent to the provider to coming back. */
const BEGUN_MS = 600_000
/** From coming back to the page's having its token. */
const HANDED_MS = 60_000
/** Answers that fit nothing, from one address in a minute: each may cost a request of the provider. */
const WRONG_A_MINUTE = 30

type Step = 'begun' | 'handed'

export interface PersonSignInOptions {
  readonly provider: Pick<SignInProvider<OidcConfig>, 'config' | 'begin' | 'finish' | 'endUrl'>
  readonly place: SignInPlace
  /** Of tokens that it gives. */
  readonly tokens: TokenKind
  /** Where the browser goes with its token behind it: its page fetches the token. */
  readonly landing: string
  /**
   * Makes the token of a person. Rejects without Postgres.
   *
   * @param from The address of the browser.
   * @throws {GatewayError} Where the person is not let in.
   */
  readonly admit: (person: SignedInPerson, from: string) => Promise<string>
  /** Ends a token that a sign-in gave, by its digests. Resolves with whether it was one. */
  readonly end: (digests: readonly Buffer[]) => Promise<boolean>
  /** At least one; the first seals what browsers keep. */
  readonly peppers: readonly string[]
  readonly log: Logger
  /** Wall clock, milliseconds since 1970. */
  readonly now: () => number
}

const NOT_BEGUN = 'This sign-in was not begun in this browser, or more than ten minutes ago. Begin it again.'
const FAILED = 'The identity provider did not sign you in, or its answer is not the one that was asked for.'
const AWAY = 'The identity provider is not reached. Use a token, or try again later.'

/**
 * `GET /sign-in` sends a browser to the company's identity provider, and brings it back with a token of ours: by
 * authorization code, PKCE, state and nonce. What has to be kept between the steps is in a sealed cookie of that browser,
 * so any gateway may take the next step, and no other browser can. The page then fetches the token once; cookies open
 * nothing else.
 */
export function signInPeople(app: FastifyInstance, options: PersonSignInOptions): void {
  const { provider, place, tokens, peppers, log, now } = options
  const { path } = place
  const { publicUrl } = provider.config
  const isSecure = publicUrl.startsWith('https:')
  // What one listener sealed opens nothing at another, though browsers send cookies to all ports of a host.
  const kind = place.whose === 'operators' ? 'sign-in' : 'member'
  const guesses = new Guesses(WRONG_A_MINUTE)

  app.get(path, NO_PARAMETERS, async (_request, reply) => {
    const begun = await provider.begin()
    if (begun === null) throw new GatewayError('upstream_unreachable', { message: AWAY })
    keep(reply, 'begun', JSON.stringify(begun.begun), BEGUN_MS)
    return reply.redirect(begun.url, 303)
  })

  app.get(`${path}/callback`, async (request, reply) => {
    const wait = guesses.waitSeconds(request.ip)
    if (wait !== null) throw tooMany(wait)
    const begun = kept(request, 'begun')
    // It is good for one answer, whatever that is.
    drop(reply, 'begun')
    const search = request.url.slice(request.url.indexOf('?'))
    const sign = begun === null ? null : (JSON.parse(begun) as BegunSignIn)
    if (sign === null || !isAnswerTo(sign, search)) {
      guesses.count(request.ip)
      throw new GatewayError('invalid_request', { message: NOT_BEGUN })
    }
    const person = await provider.finish(search, sign).catch((error: unknown) => {
      guesses.count(request.ip)
      log.warn({ event: 'sign_in.refused', whose: place.whose, reason: reasonOf(error) }, 'a sign-in failed')
      throw new GatewayError('invalid_api_key', { message: FAILED })
    })
    keep(reply, 'handed', await stored(options.admit(person, request.ip)), HANDED_MS)
    return reply.redirect(`${publicUrl}${options.landing}`, 303)
  })

  app.post(`${path}/token`, NO_PARAMETERS, async (request, reply) => {
    const token = kept(request, 'handed')
    drop(reply, 'handed')
    if (token === null) throw new GatewayError('invalid_api_key', { message: NOT_BEGUN })
    return reply.send({ token })
  })

  app.post(`${path}/end`, NO_PARAMETERS, async (request, reply) => {
    const token = bearerOf(request)
    if (token === null || !isTokenShaped(tokens, token)) throw new GatewayError('invalid_api_key')
    const isEnded = await stored(options.end(peppers.map((one) => hashKey(token, one))))
    return reply.send({ url: isEnded ? await provider.endUrl() : null })
  })

  function cookieOf(step: Step): string {
    // A neighbour under the same domain cannot set one of that name.
    return `${isSecure ? '__Host-' : ''}tallygate-${kind}-${step}`
  }

  function keep(reply: FastifyReply, step: Step, text: string, forMs: number): void {
    const sealed = sealText(`${now() + forMs} ${text}`, sealOf(step))
    setCookie(reply, step, sealed, forMs / 1_000)
  }

  function drop(reply: FastifyReply, step: Step): void {
    setCookie(reply, step, '', 0)
  }

  function setCookie(reply: FastifyReply, step: Step, value: string, seconds: number): void {
    // The provider leads back from another site; the page asks from its own.
    const sameSite = step === 'begun' ? 'Lax' : 'Strict'
    const end = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
    reply.header('set-cookie', `${cookieOf(step)}=${value}; ${end}`)
  }

  /** What the browser kept for a step; `null`: nothing, two of it, or for too long. */
  function kept({ headers }: FastifyRequest, step: Step): string | null {
    const name = `${cookieOf(step)}=`
    const found = (headers.cookie ?? '').split('; ').filter((cookie) => cookie.startsWith(name))
    const opened = found.length === 1 ? openText(found[0]?.slice(name.length) ?? '', sealOf(step)) : null
    if (opened === null) return null
    const space = opened.indexOf(' ')
    return Number(opened.slice(0, space)) > now() ? opened.slice(space + 1) : null
  }

  function sealOf(step: Step) {
    return { peppers, purpose: `tallygate ${kind}`, bound: Buffer.from(`${step} ${publicUrl}`) }
  }
}

/** Whether an answer names the sign-in that this browser began, before anything is asked for it. */
function isAnswerTo({ state }: BegunSignIn, search: string): boolean {
  const states = new URLSearchParams(search).getAll('state')
  return states.length === 1 && states[0] === state
}
