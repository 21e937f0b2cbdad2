import type { ServerResponse } from 'node:http'
import type { UpstreamFailure } from '../../../call/call-ports.ts'
import { writeError } from '../../../http/answer-error.ts'
import { UpstreamError, type UpstreamErrorCode } from '../../../http/client/answer-handler.ts'
import type { ErrorShape } from '../../../http/error-shape.ts'
import { type ErrorName, GatewayError } from '../../../http/errors.ts'
import type { AnswerRates } from '../../admission/rate-headers.ts'
import { FormInDoubt } from '../../forms/form-upload.ts'
import type { CallContext } from '../../recording/call-result.ts'

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

const TIMEOUT_CODES = new Set<UpstreamErrorCode>(['headers_timeout', 'body_timeout'])

/** What the answer to a failed call depends on. */
interface FailedCall {
  readonly call: CallContext['call']
  readonly errorShape: () => ErrorShape
  readonly rates: AnswerRates | null
}

/** Tells the client of a call why its upstream answered nothing, in the error shape of its client library. */
export function answerFailure(
  response: ServerResponse,
  { call, errorShape, rates }: FailedCall,
  error: Error,
): void {
  const detail =
    error instanceof GatewayError ? { body: error.detail.body, message: error.detail.message } : {}
  const headers = rates ?? undefined
  writeError(response, errorShape(), errorCodeOf(error), { ...detail, callId: call.callId, headers })
}

function errorCodeOf(error: Error): ErrorName {
  if (error instanceof FormInDoubt) return 'invalid_request'
  if (error instanceof GatewayError) return error.error
  const isLate = error instanceof UpstreamError && TIMEOUT_CODES.has(error.code)
  return isLate ? 'upstream_timeout' : 'upstream_unreachable'
}
