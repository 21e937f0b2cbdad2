import type { OutgoingHttpHeaders } from 'node:http2'

/** Fields of one connection. HTTP/2 has none of them, and Node throws for each (RFC 9113, 8.2.2). */
const OF_CONNECTION = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/**
 * The fields of an answer or of its trailers that HTTP/2 carries, by their lower-case names.
 *
 * @param rawHeaders as HTTP/1.1 wrote them: name, value, name, value, ...
 */
export function answerFields(rawHeaders: readonly string[]): OutgoingHttpHeaders {
  const fields: Record<string, string | string[]> = Object.create(null)
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = (rawHeaders[i] ?? '').toLowerCase()
    const value = rawHeaders[i + 1] ?? ''
    if (OF_CONNECTION.has(name)) continue
    const before = fields[name]
    if (before === undefined) fields[name] = value
    else if (typeof before === 'string') fields[name] = [before, value]
    else before.push(value)
  }
  return fields
}
