import type { RetryCause } from '../../../config/yaml/routes.ts'
import { type AnswerHeaders, UpstreamError } from '../../../http/client/answer-handler.ts'

/** Why an answer of this status is not the client's yet; `null`: it is, whatever it says. */
export function causeOfStatus(status: number): RetryCause | null {
  if (status === 408) return '408'
  if (status === 429) return '429'
  return status >= 500 ? '5xx' : null
}

/** The same of a request that has no whole answer; `null`: another upstream would not take it either. */
export function causeOfError(error: Error, isBegun: boolean): RetryCause | null {
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

/** Whether it is an event stream whose first event can be read as it comes. */
export function showsFirstEvent(status: number, headers: AnswerHeaders): boolean {
  const type = String(headers['content-type'] ?? '').toLowerCase()
  const coding = headers['content-encoding']
  return (
    status === 200 && type.startsWith('text/event-stream') && (coding === undefined || coding === 'identity')
  )
}
