import type { ServerResponse } from 'node:http'
import { errorShapeOf, writeError } from '../../../http/answer-error.ts'
import { UpstreamError, type UpstreamErrorCode } from '../../../http/client/upstream-error.ts'
import { type ErrorName, GatewayError } from '../../../http/errors.ts'
import { FormInDoubt } from '../../forms/form-upload.ts'
import type { AnswerRates } from '../../limits/doors/rate-headers.ts'
import type { CallContext } from '../../recording/call-context.ts'

const TIMEOUT_CODES = new Set<UpstreamErrorCode>(['headers_timeout', 'body_timeout'])

/** Tells the client of a call why its upstream answered nothing, in the error shape of its client library. */
export function answerFailure(
  response: ServerResponse,
  { call, dialect, request, rates }: CallContext & { readonly rates: AnswerRates | null },
  error: Error,
): void {
  const shape = dialect?.errorShape ?? errorShapeOf(request.path)
  const detail =
    error instanceof GatewayError ? { body: error.detail.body, message: error.detail.message } : {}
  const headers = rates ?? undefined
  writeError(response, shape, errorCodeOf(error), { ...detail, callId: call.callId, headers })
}

function errorCodeOf(error: Error): ErrorName {
  if (error instanceof FormInDoubt) return 'invalid_request'
  if (error instanceof GatewayError) return error.error
  const isLate = error instanceof UpstreamError && TIMEOUT_CODES.has(error.code)
  return isLate ? 'upstream_timeout' : 'upstream_unreachable'
}
