/**
 * Headers as they stand on the wire, like Node's `rawHeaders`: name, value, name, value, ... in order. Bytes
 * are latin1 characters, and values leave as they came.
 */
export type RawHeaders = readonly string[]

/**
 * Hop-by-hop headers (RFC 9110, 7.6.1), whatever `Connection` says. Trailers do not pass, so neither does
 * their announcement. Every header that begins with `proxy-` is dropped as well.
 */
const HOP_BY_HOP = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Headers that frame, address or describe the message. Naming them in `Connection` does not drop them. */
const NOT_FOR_CONNECTION_TO_NAME = new Set(['content-encoding', 'content-length', 'content-type', 'host'])

/** Whether a header is about this connection alone, and does not pass. */
export function endsHere(lowerName: string, connectionNamed: ReadonlySet<string> | null): boolean {
  return (
    HOP_BY_HOP.has(lowerName) ||
    lowerName.startsWith('proxy-') ||
    (connectionNamed?.has(lowerName) === true && !NOT_FOR_CONNECTION_TO_NAME.has(lowerName))
  )
}

/** The headers that `Connection` names, in lower case; `null`: it names none. */
export function namedByConnection(rawHeaders: RawHeaders): ReadonlySet<string> | null {
  let named: Set<string> | null = null
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'connection') continue
    for (const token of (rawHeaders[i + 1] ?? '').split(',')) {
      named ??= new Set()
      named.add(token.trim().toLowerCase())
    }
  }
  return named
}
