import type { ServerResponse } from 'node:http'
import { errorShapeOf, writeError } from '../../http/answer-error.ts'
import { type ErrorName, GatewayError } from '../../http/errors.ts'
import { FormInDoubt } from '../forms/form-upload.ts'
import type { CallContext } from '../recording/call-context.ts'

const TIMEOUT_CODES = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT'])

/** Tells the client of a call why its upstream answered nothing, in the error shape of its client library. */
export function answerFailure(
  response: ServerResponse,
  { call, dialect, request }: CallContext,
  error: Error,
): void {
  const shape = dialect?.errorShape ?? errorShapeOf(request.path)
  writeError(response, shape, errorCodeOf(error), { callId: call.callId })
}

function errorCodeOf(error: Error): ErrorName {
  if (error instanceof FormInDoubt) return 'invalid_request'
  if (error instanceof GatewayError) return error.error
  return 'code' in error && TIMEOUT_CODES.has(String(error.code))
    ? 'upstream_timeout'
    : 'upstream_unreachable'
}
