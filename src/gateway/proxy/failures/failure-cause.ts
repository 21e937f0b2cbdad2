import type { UpstreamFailure } from '../../../call/call-observer.ts'
import { UpstreamError, type UpstreamErrorCode } from '../../../http/client/upstream-error.ts'
import { GatewayError } from '../../../http/errors.ts'

const BY_UPSTREAM_ERROR: Readonly<Record<UpstreamErrorCode, UpstreamFailure | null>> = {
  connect_timeout: 'connect_timeout',
  headers_timeout: 'slow_answer',
  body_timeout: 'slow_answer',
  closed: 'broken_off',
  malformed_answer: 'malformed_answer',
  invalid_request: null,
  pool_closed: null,
}

/** Codes of Node's socket errors. What is none of these is taken for a connection that broke. */
const BY_SOCKET_CODE: Readonly<Record<string, UpstreamFailure>> = {
  ENOTFOUND: 'dns',
  EAI_AGAIN: 'dns',
  ECONNREFUSED: 'connect_refused',
  ETIMEDOUT: 'connect_timeout',
  EHOSTUNREACH: 'connect_timeout',
  ENETUNREACH: 'connect_timeout',
}
const OF_TLS = /^(?:ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|EPROTO)/

/** Why a call failed at its upstream; `null`: it did not, or the cause lies with the client. */
export function failureCauseOf(status: number | null, error: Error | null): UpstreamFailure | null {
  if (error === null) return causeOfStatus(status)
  if (error instanceof GatewayError) {
    return error.error === 'upstream_credential_refused' ? 'credential_refused' : null
  }
  if (error instanceof UpstreamError) return BY_UPSTREAM_ERROR[error.code]
  const code = 'code' in error ? String(error.code) : ''
  return BY_SOCKET_CODE[code] ?? (OF_TLS.test(code) ? 'tls' : 'broken_off')
}

function causeOfStatus(status: number | null): UpstreamFailure | null {
  if (status === null || status < 429) return null
  return status === 429 ? 'rate_limited' : status >= 500 ? 'server_error' : null
}
