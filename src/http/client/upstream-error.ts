/** What went wrong between a request and the end of its answer. */
export type UpstreamErrorCode =
  | 'connect_timeout'
  | 'headers_timeout'
  | 'body_timeout'
  | 'closed'
  | 'malformed_answer'
  | 'invalid_request'
  | 'pool_closed'

/** A request that has no answer, or not the whole of it. Errors of the socket itself come as they are. */
export class UpstreamError extends Error {
  readonly code: UpstreamErrorCode

  constructor(code: UpstreamErrorCode, message: string) {
    super(message)
    this.code = code
  }
}
