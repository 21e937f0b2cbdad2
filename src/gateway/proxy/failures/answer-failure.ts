import type { ServerResponse } from 'node:http'
import { writeError } from '../../../http/answer-error.ts'
import { UpstreamError, type UpstreamErrorCode } from '../../../http/client/upstream-error.ts'
import { type ErrorName, GatewayError } from '../../../http/errors.ts'
import type { ErrorShape } from '../../../http/shapes/error-shape.ts'
import { FormInDoubt } from '../../forms/form-upload.ts'
import type { AnswerRates } from '../../limits/doors/rate-headers.ts'
import type { CallContext } from '../../recording/call-context.ts'

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
