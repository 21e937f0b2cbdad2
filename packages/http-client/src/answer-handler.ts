/** The headers of an answer by their lower-case names; one that is repeated has all of its values. */
export type AnswerHeaders = Record<string, string | string[] | undefined>

/** The reader of an answer steers it by this. It outlives its connection, and then does nothing. */
export interface AnswerController {
  /** The headers as they stood on the wire: name, value, name, value, ... as latin1 characters. */
  readonly rawHeaders: readonly string[]
  readonly aborted: boolean
  readonly paused: boolean
  /** Nothing comes behind the bytes that were passed on last; of an answer that goes until the close it is not known. */
  readonly isWhole: boolean
  /** Why it was aborted; `null`: it was not. */
  readonly reason: Error | null
  /** No more is read, and none of the `on...` methods but `onResponseError` is called, until `resume`. */
  pause(): void
  resume(): void
  /** Gives the request up and closes its connection. Calls `onResponseError` before it returns. */
  abort(reason: Error): void
}

/**
 * Who takes one answer. The methods are called in this order, and `onResponseEnd` or `onResponseError` once at
 * the end. One that throws aborts the request.
 */
export interface AnswerHandler {
  /** The connection is there, and nothing was written yet: after an `abort` here, nothing will be. */
  onRequestStart(controller: AnswerController): void
  /** The head of the answer, of a status from 200. `reason` has its bytes as latin1 characters. */
  onResponseStart(controller: AnswerController, status: number, headers: AnswerHeaders, reason: string): void
  /** The next bytes of the body, which are the handler's from now on: all that one read brought. */
  onResponseData(controller: AnswerController, chunk: Buffer): void
  /** The whole answer was passed on. @param trailers `null`: there are none. */
  onResponseEnd(controller: AnswerController, trailers: AnswerHeaders | null): void
  /** @param controller `null`: the request was never begun, and nothing of it was written. */
  onResponseError(controller: AnswerController | null, error: Error): void
}

/** An error between a request and the end of its answer. */
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
