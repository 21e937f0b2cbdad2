import { UpstreamError } from '#http-client/answer-handler.ts'
import type { RetryCause } from '../../../config/yaml/routes.ts'
import { GatewayError } from '../../../http/errors.ts'

/**
 * Why an answer of this status is not the client's yet; `null`: it is, whatever it says.
 *
 * @param hasOurCredential It is the gateway's credential that 401 refuses, and not the client's.
 */
export function causeOfStatus(status: number, hasOurCredential: boolean): RetryCause | null {
  if (status === 401 && hasOurCredential) return '5xx'
  if (status === 408) return '408'
  if (status === 429) return '429'
  return status >= 500 ? '5xx' : null
}

/** The same of a request that has no whole answer; `null`: another upstream would not take it either. */
export function causeOfError(error: Error, isBegun: boolean): RetryCause | null {
  // What the gateway itself refuses to send is the request's fault, but for a credential that has ended.
  if (error instanceof GatewayError) return error.error === 'upstream_credential_missing' ? 'connect' : null
  if (!(error instanceof UpstreamError)) return 'connect'
  switch (error.code) {
    case 'headers_timeout':
    case 'body_timeout':
      return isBegun ? 'timeout' : 'connect'
    case 'malformed_answer':
      return '5xx'
    case 'invalid_request':
      return null
    case 'connect_timeout':
    case 'closed':
    case 'pool_closed':
      return 'connect'
    default:
      return error.code satisfies never
  }
}
