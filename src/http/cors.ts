import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

/** How long a browser keeps the answer to a preflight. */
const MAX_AGE_SECONDS = '600'
const SHOWN = 'access-control-expose-headers'
/** A page sees these unnamed, or has no use for them. */
const NEEDS_NO_NAME =
  /^(?:access-control-.*|cache-control|connection|content-(?:language|length|type)|date|expires|keep-alive|last-modified|pragma|transfer-encoding|vary)$/
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
      nameHeaders(response)
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

/**
 * Names an answer's own headers as it begins, since a page sees only headers that are named. No list says which these
 * are: those of metering, of routes, of LiteLLM and of the upstream come from many places.
 */
function nameHeaders(response: ServerResponse): void {
  const { writeHead } = response
  response.writeHead = (...given: unknown[]) => {
    const names = new Set([...response.getHeaderNames(), ...namesIn(given.at(-1))])
    const shown = [...names].filter((name) => !NEEDS_NO_NAME.test(name))
    if (shown.length > 0) response.setHeader(SHOWN, shown.join(', '))
    return Reflect.apply(writeHead, response, given)
  }
}

/** In lower case. Headers come as names and values in turn, or by name. */
function namesIn(headers: unknown): readonly string[] {
  const names = Array.isArray(headers)
    ? headers.filter((_text, place) => place % 2 === 0)
    : Object.keys(Object(typeof headers === 'object' ? headers : {}))
  return names.map((name) => String(name).toLowerCase())
}
