import type { CallRefusal } from '../../../http/errors.ts'
import { readCallTarget } from '../../routing/call-target.ts'
import { isOwnOperation } from '../../routing/own-operation.ts'
import type { Admission, AdmissionOptions } from '../admission.ts'

const INVALID_TARGET: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'The path of the request is not a valid one.' },
}
const OUTSIDE_BASE_PATH: CallRefusal = { error: 'not_found' }
const NO_SESSION: CallRefusal = {
  error: 'invalid_request',
  detail: { message: 'This operation is not available over WebSocket.' },
}

/**
 * Reads what the call asks for. Refuses `OPTIONS *` and other targets that are about this server, since they
 * cannot be appended to an upstream's address.
 */
export function readTarget(
  admission: Admission,
  { config }: Pick<AdmissionOptions, 'config'>,
): CallRefusal | null {
  const target = readCallTarget(admission.urlWithoutKey, config.basePath)
  if (target === 'invalid_request') return INVALID_TARGET
  if (target === 'not_found') return OUTSIDE_BASE_PATH
  admission.target = target
  return null
}

/**
 * Refuses a session with one of the gateway's own operations. Over HTTP they have routes, and never get here.
 */
export function refuseOwnOperation({ webSocket, target }: Admission): CallRefusal | null {
  return webSocket && isOwnOperation(target.canonicalPath) ? NO_SESSION : null
}
