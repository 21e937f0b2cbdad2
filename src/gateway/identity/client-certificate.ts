import type { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import { StreamConnection } from '../../http/http2/stream-connection.ts'

const NEVER_MS = 0

/**
 * Tells whether a connection has a certificate that one of the listener's authorities signed for one of `names`, and that
 * is in force: looked at once for each connection, and at its end for each request. A stream of HTTP/2 has its session's.
 *
 * @param names As `ProxyCertificate` has them.
 */
export function certifiedBy(names: readonly string[]): (socket: Duplex, nowMs: number) => boolean {
  const endsAtMs = new WeakMap<TLSSocket, number>()
  return (socket, nowMs) => {
    const connection = socket instanceof StreamConnection ? socket.session : socket
    if (!(connection instanceof TLSSocket)) return false
    let end = endsAtMs.get(connection)
    if (end === undefined) {
      end = endOfCertificate(connection, names)
      endsAtMs.set(connection, end)
    }
    return nowMs < end
  }
}

/** Milliseconds since 1970; 0: it has none such. */
function endOfCertificate(connection: TLSSocket, names: readonly string[]): number {
  // A session of TLS 1.3 that is resumed is taken for authorized by Node, also where it never had a certificate.
  const certificate = connection.getPeerX509Certificate()
  if (!connection.authorized || certificate === undefined) return NEVER_MS
  // OpenSSL writes what could be taken for a separator as an escape, in both.
  const named = new Set([
    ...certificate.subject.split('\n'),
    ...(certificate.subjectAltName ?? '')
      .split(', ')
      .map((name) => (name.startsWith('DNS:') ? `DNS:${name.slice(4).toLowerCase()}` : name)),
  ])
  return names.some((name) => named.has(name)) ? Date.parse(certificate.validTo) : NEVER_MS
}
