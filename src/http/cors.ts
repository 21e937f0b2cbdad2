import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** How long a browser keeps the answer to a preflight. */
const MAX_AGE_SECONDS = '600'
/** The headers of an answer that a page sees beside its body. A page sees only headers that are named. */
const SHOWN_HEADERS = [
  'x-tallygate-call-id',
  'x-tallygate-as-of',
  'x-tallygate-upstream',
  'x-tallygate-attempts',
  'x-request-id',
  'request-id',
  'retry-after',
  'x-should-retry',
  ...['limit', 'remaining', 'reset'].flatMap((what) =>
    ['requests', 'tokens'].flatMap((of) => [
      `x-ratelimit-${what}-${of}`,
      `anthropic-ratelimit-${of}-${what}`,
    ]),
  ),
].join(', ')
/** RFC 9110, 5.6.2, and lists of these. */
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/
const TOKENS = /^[\w!#$%&'*+.^`|~,\t -]*$/

/**
 * Lets pages of `origins` call what `listener` answers: their preflights are answered here, before anything looks for
 * a key, and every other answer to them says that they may read it. `null`: none, and nothing changes.
 *
 * @param origins as browsers write them, or `*` alone for all.
 */
export function allowOrigins(listener: RequestListener, origins: readonly string[] | null): RequestListener {
  if (origins === null) return listener
  const isForAll = origins.includes('*')
  const allowed = new Set(origins)
  return (request, response) => {
    const { origin } = request.headers
    if (origin !== undefined && (isForAll || allowed.has(origin))) {
      response.setHeader('access-control-allow-origin', isForAll ? '*' : origin)
      response.setHeader('vary', 'Origin')
      if (answerPreflight(request, response)) return
      response.setHeader('access-control-expose-headers', SHOWN_HEADERS)
    }
    listener(request, response)
  }
}

/**
 * Tells whether the request was one of a browser that asks what its page may send. It has no key, and is not a call.
 */
function answerPreflight({ method, headers }: IncomingMessage, response: ServerResponse): boolean {
  const asked = headers['access-control-request-method']
  if (method !== 'OPTIONS' || asked === undefined || !TOKEN.test(asked)) return false
  const names = headers['access-control-request-headers'] ?? ''
  response.setHeader('access-control-allow-methods', asked)
  if (names !== '' && TOKENS.test(names)) response.setHeader('access-control-allow-headers', names)
  response.setHeader('access-control-max-age', MAX_AGE_SECONDS)
  response.writeHead(204).end()
  return true
}
