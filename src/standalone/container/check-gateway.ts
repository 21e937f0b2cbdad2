/** A container's health check: whether this gateway takes calls. Exit code 0 or 1. */
const port = process.env.PORT || '8080'
const scheme = process.env.TLS_CERT_FILE ? 'https' : 'http'
if (scheme === 'https') process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0' // our own listener, by an address that its certificate lacks
const answer = await fetch(`${scheme}://127.0.0.1:${port}/readyz`, {
  signal: AbortSignal.timeout(2_500),
}).catch(() => null)
process.exit(answer?.ok ? 0 : 1)
