import type { FastifyError, FastifyInstance, FastifyReply } from 'fastify'
import { sendError } from '../http/answer-error.ts'
import { GatewayError } from '../http/errors.ts'
import { isQueryTimeout, isUnstorableText } from '../store/connection/postgres.ts'

/**
 * Headers that forbid browsers to guess an answer's type, frame it, store it, or load it from another origin.
 */
export function protect(reply: FastifyReply): void {
  reply.headers({
    'cache-control': 'no-store',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  })
}

/** Behind which item a list goes on; absent: the answer has the last one. A header, as the list is an array. */
export const NEXT_CURSOR = 'x-tallygate-next-cursor'

const ASK_LESS =
  'The answer took too long to work out. Ask for less: fewer days, one client, or fewer groups.'

const NO_NUL = 'A name or an id must not have a NUL character in it.'

/** Errors of ours, which no store has. */
const BUGS = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * A store that refuses or is unreachable, or a statement that took too long: the cause goes to the log only.
 */
export async function stored<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer
  } catch (cause) {
    if (cause instanceof GatewayError || BUGS.some((bug) => cause instanceof bug)) throw cause
    if (isQueryTimeout(cause)) throw new GatewayError('query_timeout', { message: ASK_LESS, cause })
    if (isUnstorableText(cause)) throw new GatewayError('invalid_request', { message: NO_NUL, cause })
    throw new GatewayError('storage_unavailable', { cause })
  }
}

/** Accepts JSON bodies only, also an empty one, which many clients send with the type of JSON. */
export function readJsonOnly(app: FastifyInstance): void {
  const parse = app.getDefaultJsonParser('error', 'error')
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else parse(request, body, done)
  })
}

export function answerError(error: Partial<FastifyError>, reply: FastifyReply): void {
  if (error instanceof GatewayError) {
    if (error.statusCode >= 500)
      reply.log.error({ event: 'admin.request_failed', err: error.cause }, error.message)
    const { param, headers } = error.detail
    sendError(reply, error.error, { message: error.message, param, headers })
    return
  }
  const status = error.statusCode ?? 500
  if (status >= 500) {
    reply.log.error({ event: 'admin.request_failed', err: error }, 'a request of the operator failed')
    sendError(reply, 'internal_error')
  } else if (status === 413) sendError(reply, 'body_too_large')
  else if (status === 415) {
    sendError(reply, 'invalid_request', { message: 'Send JSON, with content-type: application/json.' })
  } else if (error.code?.startsWith('FST_ERR_CTP') === true || error instanceof SyntaxError) {
    sendError(reply, 'invalid_request', { message: 'The body is not valid JSON.' })
  } else sendError(reply, 'invalid_request')
}
