import {
  type AnswerController,
  type AnswerHandler,
  type AnswerHeaders,
  UpstreamError,
} from '#http-client/answer-handler.ts'
import type { RetryCause } from '../../../config/yaml/routes.ts'
import type { AttemptState } from '../../recording/attempt-state.ts'
import type { AttemptGate } from '../dispatch.ts'
import type { Exchange, ExchangeContext } from '../exchange.ts'
import { AnswerStart } from './answer-start.ts'
import { causeOfError, causeOfStatus } from './retry-rules.ts'

/** Why an attempt did not become the answer. */
export interface AttemptFailure {
  readonly cause: RetryCause | null
  /** `null`: its answer said so. */
  readonly error: Error | null
}

/** Who decides what becomes of an attempt. */
export interface AttemptOwner {
  /** Whether another target would be tried after this. */
  mayRetry(attempt: Attempt, cause: RetryCause | null): boolean
  /** It is over, and is not the answer: another is tried, or `giveUp` ends the call with it. */
  failed(attempt: Attempt, failure: AttemptFailure): void
  /** Its answer is the client's from now on. */
  answered(attempt: Attempt): void
}

const NO_HEADERS: AnswerHeaders = {}
const NOTHING_HELD: readonly never[] = []

/** One request of a call that may have others: holds its answer until it is known to be the client's. */
export class Attempt implements AttemptGate, AnswerHandler {
  readonly state: AttemptState
  readonly #owner: AttemptOwner
  readonly #firstByteTimeoutMs: number | null
  #exchange: Exchange | null = null
  #inner: AnswerHandler | null = null
  #context: ExchangeContext | null = null
  #controller: AnswerController | null = null
  #timer: NodeJS.Timeout | null = null
  #status: number | null = null
  #headers = NO_HEADERS
  #reason = ''
  #start: AnswerStart | null = null
  /** `waits`: nothing is decided. `answers`: all goes to the client. `over`: what still comes is dropped. */
  #is: 'waiting' | 'answering' | 'over' = 'waiting'

  constructor(owner: AttemptOwner, state: AttemptState, firstByteTimeoutMs: number | null) {
    this.#owner = owner
    this.state = state
    this.#firstByteTimeoutMs = firstByteTimeoutMs
  }

  /** @throws Before it was dispatched. */
  get context(): ExchangeContext {
    if (this.#context === null) throw new Error('an attempt was not dispatched')
    return this.#context
  }

  /** Bytes of the request may have gone upstream. */
  get isBegun(): boolean {
    return this.#controller !== null
  }

  get isWaiting(): boolean {
    return this.#is === 'waiting'
  }

  /** The status of its answer; `null`: none came. */
  get status(): number | null {
    return this.#status
  }

  get headers(): AnswerHeaders {
    return this.#headers
  }

  /** The bytes of the answer that are held. */
  get held(): readonly Buffer[] {
    return this.#start?.held ?? NOTHING_HELD
  }

  stand(exchange: Exchange, handler: AnswerHandler, context: ExchangeContext): AnswerHandler {
    this.#exchange = exchange
    this.#inner = handler
    this.#context = context
    if (this.#firstByteTimeoutMs !== null) {
      this.#timer = setTimeout(() => this.#isLate(), this.#firstByteTimeoutMs)
    }
    return this
  }

  /** The client left while this is under way. False: nothing of it was sent, and nothing will be. */
  clientLeft(): boolean {
    if (this.#is === 'waiting') {
      if (this.#controller === null) {
        this.#end()
        return false
      }
      this.#passOn()
    }
    this.#exchange?.clientLeft()
    return true
  }

  /** Nothing of the call was sent, by this or another attempt: it is not counted. */
  discard(): void {
    this.#exchange?.clientLeft()
    this.#inner?.onResponseError(null, new Error('client left'))
  }

  /** The call ends with it as it is, and nothing more is used by it than `state` tells. */
  endUnsent(): void {
    this.#end()
    this.#exchange?.endUnsent()
  }

  /** The call ends with its failure. */
  giveUp(error: Error): void {
    const controller = this.#controller
    // A connection that comes about later carries nothing any more.
    this.#is = 'over'
    // Of an answer that was given up for its status nothing is there to be shown.
    if (this.#start === null) this.#status = null
    if (controller !== null) this.#replay(controller)
    this.#inner?.onResponseError(controller, error)
  }

  onRequestStart(controller: AnswerController): void {
    if (this.#is !== 'waiting') {
      controller.abort(new Error('another target is asked, or the client left'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(
    controller: AnswerController,
    status: number,
    headers: AnswerHeaders,
    reason: string,
  ): void {
    if (this.#is === 'answering') {
      this.#inner?.onResponseStart(controller, status, headers, reason)
      return
    }
    if (this.#is === 'over') return
    this.#status = status
    this.#headers = headers
    this.#reason = reason
    const cause = causeOfStatus(status, this.context.hasOurCredential)
    if (cause !== null && this.#owner.mayRetry(this, cause)) {
      this.#fail({ cause, error: null })
      return
    }
    this.#start = AnswerStart.of(status, headers)
    if (this.#start === null) this.#answer()
  }

  onResponseData(controller: AnswerController, chunk: Buffer): void {
    if (this.#is === 'answering') {
      this.#inner?.onResponseData(controller, chunk)
      return
    }
    if (this.#is === 'over') return
    const verdict = this.#start?.push(chunk) ?? null
    if (verdict !== null) this.#judge(verdict)
  }

  onResponseEnd(controller: AnswerController, trailers: AnswerHeaders | null): void {
    if (this.#is === 'waiting') this.#judge(this.#start?.end() ?? 'fine')
    if (this.#is === 'answering') this.#inner?.onResponseEnd(controller, trailers)
  }

  onResponseError(controller: AnswerController | null, error: Error): void {
    if (this.#is === 'answering') this.#inner?.onResponseError(controller, error)
    else if (this.#is === 'waiting') this.#fail({ cause: causeOfError(error, this.isBegun), error })
  }

  #judge(verdict: RetryCause | 'fine'): void {
    if (verdict !== 'fine' && this.#owner.mayRetry(this, verdict)) this.#fail({ cause: verdict, error: null })
    else this.#answer()
  }

  #isLate(): void {
    if (this.#is !== 'waiting') return
    const error = new UpstreamError(
      this.isBegun ? 'headers_timeout' : 'connect_timeout',
      'the first byte of the answer did not come in time',
    )
    this.#fail({ cause: this.isBegun ? 'timeout' : 'connect', error })
  }

  #answer(): void {
    this.#owner.answered(this)
    this.#passOn()
  }

  /** From now on all goes to the client, what was held first. */
  #passOn(): void {
    const controller = this.#controller
    this.#stopTimer()
    this.#is = 'answering'
    if (controller !== null) this.#replay(controller)
  }

  #replay(controller: AnswerController): void {
    const inner = this.#inner
    const held = this.#start?.held ?? NOTHING_HELD
    this.#start = null
    try {
      inner?.onRequestStart(controller)
      if (this.#status === null) return
      inner?.onResponseStart(controller, this.#status, this.#headers, this.#reason)
      for (const chunk of held) if (!controller.aborted) inner?.onResponseData(controller, chunk)
    } catch (error) {
      // As the connection does it for a reader that throws; a timer or a client that leaves has no one to catch it.
      controller.abort(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #fail(failure: AttemptFailure): void {
    this.#end()
    this.#owner.failed(this, failure)
  }

  /** What still comes of it is dropped. */
  #end(): void {
    this.#stopTimer()
    this.#is = 'over'
    const controller = this.#controller
    if (controller !== null && !controller.aborted) controller.abort(new Error('another target is asked'))
  }

  #stopTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }
}
