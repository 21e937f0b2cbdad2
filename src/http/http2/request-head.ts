/** Fields of one connection, which HTTP/2 has not (RFC 9113, 8.2.2), and the one that is said by `:authority`. */
const DROPPED = new Set([
  'connection',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
])
const TOKEN = /^[!#$%&'*+\-.^_`|~\w]+$/
/** What stands on a line of HTTP/1.1, without blanks: no reader could find two parts in it. */
const TARGET = /^[\x21-\x7e\x80-\xff]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/** The head of one request, as HTTP/1.1 writes it. */
export interface WrittenHead {
  readonly method: string
  /** In latin1 characters. */
  readonly text: string
  /** Its body's length is not announced, so it follows in chunks. */
  readonly isChunked: boolean
}

/**
 * Writes the head of a stream as that of an HTTP/1.1 request that closes its connection.
 *
 * @param rawHeaders as they came: name, value, name, value, ...
 * @param hasBody false: the stream's head is all of it
 * @returns `null`: HTTP/1.1 could not carry it
 */
export function requestHead(rawHeaders: readonly string[], hasBody: boolean): WrittenHead | null {
  let method = ''
  let path = ''
  let authority: string | null = null
  let host: string | null = null
  let hasLength = false
  let lines = ''
  const cookies: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    const value = rawHeaders[i + 1] ?? ''
    if (!VALUE.test(value)) return null
    if (name === ':method') method = value
    else if (name === ':path') path = value
    else if (name === ':authority') authority = value
    else if (name === 'host') host ??= value
    // RFC 9113, 8.2.3: it may come in parts.
    else if (name === 'cookie') cookies.push(value)
    else if (name[0] !== ':' && !DROPPED.has(name)) {
      if (!TOKEN.test(name)) return null
      if (name === 'content-length') hasLength = true
      lines += `${name}: ${value}\r\n`
    }
  }
  if (!TOKEN.test(method) || method === 'CONNECT' || !TARGET.test(path)) return null
  // RFC 9113, 8.3.1: two names for one host make it malformed.
  if (authority !== null && host !== null && authority.toLowerCase() !== host.toLowerCase()) return null
  if (cookies.length > 0) lines += `cookie: ${cookies.join('; ')}\r\n`
  const named = authority ?? host
  const hostLine = named === null ? '' : `host: ${named}\r\n`
  const isChunked = hasBody && !hasLength
  const framing = isChunked ? 'transfer-encoding: chunked\r\n' : ''
  return {
    method,
    text: `${method} ${path} HTTP/1.1\r\n${hostLine}${lines}${framing}connection: close\r\n\r\n`,
    isChunked,
  }
}
