import type { AnswerController, AnswerHandler, AnswerHeaders } from '#http-client/answer-handler.ts'
import type { CallLedger, CallObserver } from '../../call/call-ports.ts'
import type { CallRecord, JobUse, Outcome } from '../../call/call-record.ts'
import { cutAnswer } from '../../http/answer-error.ts'
import { GatewayError } from '../../http/errors.ts'
import type { HeldLimits } from '../../limits/engine/held-limits.ts'
import type { Limit } from '../../limits/limit.ts'
import { mayRefuseCredential } from '../../providers/refused-credential.ts'
import type { LearnedRatios } from '../estimation/learning/learned-ratios.ts'
import type { CallResult } from '../recording/call-result.ts'
import { finalizeCall, finalizeWithEstimate, needsEstimate } from '../recording/finalize-call.ts'
import { ObservedAnswer } from '../recording/observed-answer.ts'
import type { QuotingPricing } from '../recording/pricing.ts'
import { endpointContextOf } from '../routing/route.ts'
import type { AttemptSpan, CallSpan, CallTracer } from '../tracing/call-span.ts'
import { type DeliveredCall, Delivery } from './delivery.ts'
import { DoubtedAnswer, failureCauseOf, isSilence } from './failures.ts'
import type { Unattended } from './unattended.ts'

/**
 * A coded answer is decoded a moment behind its bytes: what a client had seen when it left is known by then.
 */
const DECODING_MS = 200

const NO_USES: readonly JobUse[] = []

/** One call that is about to go upstream. */
export interface ExchangeContext extends DeliveredCall {
  /** `null`: no limit holds for the call. */
  readonly limits: HeldLimits | null
  /** A credential of the gateway's went upstream: what is said of it there is not for the client. */
  readonly hasOurCredential: boolean
  /** Absent: there is no tracing. */
  readonly span?: CallSpan | null
  readonly attemptSpan?: AttemptSpan | null
  /** What jobs have used that the call ends, where no one knew it before. */
  readonly endedUses?: readonly JobUse[]
  /** Called once, when the call has its record and its client all that it will get. */
  readonly onEnd: () => void
}

/**
 * One call on its way through the upstream and back. Its `on…` methods are called in the order of the answer; the bytes go to the client ({@link Delivery}) and past the reader ({@link ObservedAnswer}), and it
 * ends in exactly one record.
 */
export class Exchange implements AnswerHandler {
  readonly #services: CallServices
  readonly #context: ExchangeContext
  readonly #delivery: Delivery
  readonly #answer: ObservedAnswer
  #controller: AnswerController | null = null
  /** Held until it is known whether it is about our credential. */
  #doubted: DoubtedAnswer | null = null
  /** Says that the call has ended, while it goes on without its client. */
  #releaseUnattended: (() => void) | null = null
  #status: number | null = null
  /** Nothing of this went upstream, and the record says so. */
  #isUnsent = false
  #firstByteAt: number | null = null
  /** Built as the call goes upstream. */
  readonly #sentAt = performance.now()
  #endedAt = 0
  #ended = false

  constructor(services: CallServices, context: ExchangeContext) {
    this.#services = services
    this.#context = context
    this.#delivery = new Delivery(context)
    this.#answer = new ObservedAnswer(context, services, this.#delivery)
  }

  get callId(): string {
    return this.#context.call.callId
  }

  /** The upstream has begun to answer. */
  get isAnswered(): boolean {
    return this.#status !== null
  }

  /**
   * What the request's body, still on its way, names as the call's model; `null`: it leaves that in doubt.
   */
  nameModel(model: string | null): void {
    const context = this.#context
    context.call = { ...context.call, requestedModel: model }
    context.request = { ...context.request, model }
  }

  /** The client's connection closed before its answer was whole. */
  clientLeft(): void {
    if (!this.#delivery.abandon() || this.#ended) return
    // Before a byte went upstream there is nothing to read on: see `onRequestStart`.
    if (this.#controller === null) return
    const answer = this.#answer
    const { onClientAbort, unattended } = this.#services
    const { usageMs, answerMs } = unattended.limits
    const { dialect } = this.#context
    if (onClientAbort === 'drain' || answer.isCountedUpstreamOnly())
      this.#readOn(dialect?.isGeneric === true ? answerMs : null)
    else if (answer.hasGenerated()) this.#readOn(usageMs)
    else if (!answer.isCoded) this.#cancel()
    else this.#readOn(DECODING_MS, () => (answer.hasGenerated() ? this.#readOn(usageMs) : this.#cancel()))
  }

  /** The client left between two attempts: what those before have used has rows of its own. */
  endUnsent(): void {
    if (this.#ended) return
    this.#delivery.abandon()
    this.#isUnsent = true
    this.#end('client_aborted', new Error('client left'))
  }

  /** Goes on without the client, for what the upstream still has to report; after `ms`, if any, `giveUp`. */
  #readOn(ms: number | null, giveUp = () => this.#cancel()): void {
    const { clientId } = this.#context.call
    this.#releaseUnattended = this.#services.unattended.admit(clientId, ms, giveUp)
    this.#controller?.resume()
  }

  #cancel(): void {
    if (!this.#ended) this.#controller?.abort(new Error('client left'))
  }

  onRequestStart(controller: AnswerController): void {
    if (this.#delivery.clientGone) {
      // It left while the connection was being made: nothing was sent yet, and nothing will be. No
      // controller: no call.
      controller.abort(new Error('client left'))
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
    this.#status = status
    this.#answer.begin(status, headers)
    const begin = () => this.#delivery.begin(controller, status, reason, headers)
    if (this.#context.hasOurCredential && mayRefuseCredential(status)) {
      this.#doubted = new DoubtedAnswer(status, headers, begin)
    } else begin()
  }

  onResponseData(controller: AnswerController, chunk: Buffer): void {
    this.#firstByteAt ??= performance.now()
    this.#answer.read(chunk)
    if (this.#doubted === null) {
      this.#delivery.pass(chunk, this.#answer.hasNoUsage)
      return
    }
    this.#passAll(this.#doubted.push(chunk))
    if (this.#doubted.isEndless) controller.abort(new Error('the answer to a refused credential is too long'))
  }

  onResponseEnd(_controller: AnswerController, trailers: AnswerHeaders | null): void {
    if (this.#ended) return
    if (this.#doubted?.isRefusal() === true) {
      this.#endRefused()
      return
    }
    this.#passAll(this.#doubted?.release() ?? [])
    this.#delivery.endBody(trailers)
    this.#end(this.#delivery.clientGone ? 'client_aborted' : 'complete', null)
  }

  onResponseError(_controller: AnswerController | null, error: Error): void {
    if (this.#ended) return
    if (this.#doubted?.isRefusal() === true) {
      this.#endRefused()
      return
    }
    const { clientGone } = this.#delivery
    this.#passAll(this.#doubted?.release() ?? [])
    if (clientGone && this.#controller === null) {
      // It never left this machine: not a call.
      this.#ended = true
      this.#services.ledger.discard(this.#context.call)
      this.#context.attemptSpan?.ended(null, null)
      this.#context.span?.refused(null)
      this.#context.onEnd()
      return
    }
    this.#delivery.breakOff()
    if (clientGone) this.#answer.cut()
    this.#end(clientGone ? 'client_aborted' : 'upstream_error', error)
  }

  #passAll(chunks: readonly Buffer[]): void {
    for (const chunk of chunks) this.#delivery.pass(chunk, false)
  }

  /** The upstream knows no such credential, which is not the client's. */
  #endRefused(): void {
    this.#end('upstream_error', new GatewayError('upstream_credential_refused'))
  }

  #end(outcome: Outcome, error: Error | null): void {
    this.#ended = true
    this.#releaseUnattended?.()
    this.#answer.stop()
    const endedAt = performance.now()
    this.#endedAt = endedAt
    if (this.#answer.isCoded) {
      this.#delivery.goOn()
      this.#answer.finishDecoding(() => this.#finalize(outcome, error, endedAt))
    } else this.#finalize(outcome, error, endedAt)
  }

  #finalize(outcome: Outcome, error: Error | null, endedAt: number): void {
    const { pricing, observer } = this.#services
    const { call, client, arrivedAt, dialect, attempt } = this.#context
    const answer = this.#answer
    const result: CallResult = {
      call,
      client,
      endpoint: endpointContextOf(dialect),
      status: this.#status,
      outcome,
      observation: answer.end(error === null, endedAt - (attempt?.startedAt ?? arrivedAt)),
      latencyUs: this.#status === null ? null : (endedAt - arrivedAt) * 1000,
      ttftUs: this.#firstByteAt === null ? null : (this.#firstByteAt - arrivedAt) * 1000,
      bytes: answer.bytesOfTool,
      estimates: this.#isUnsent ? null : answer.estimates,
      isUnsaid: this.#isUnsent,
    }
    const isNone = outcome === 'client_aborted' || isSilence(dialect, error)
    const cause = isNone ? null : failureCauseOf(this.#status, error)
    if (cause !== null) observer.upstreamFailed(call, cause)
    this.#context.attemptSpan?.ended(this.#status, cause)
    if (result.observation?.totalMismatch === true) observer.totalMismatch(call.provider)
    if (!needsEstimate(result)) {
      this.#record(finalizeCall(result, pricing), error)
      return
    }
    this.#delivery.goOn()
    finalizeWithEstimate(result, pricing).then(
      (record) => this.#record(record, error),
      (reason: unknown) => {
        observer.readingFailed(call.provider, reason)
        this.#record(finalizeCall(result, pricing), error)
      },
    )
  }

  #record(own: CallRecord, upstreamError: Error | null): void {
    const { limits, endedUses = NO_USES, attempt } = this.#context
    const hasOthers = attempt !== undefined && attempt.uses.length > 0
    const uses = hasOthers ? [...endedUses, ...attempt.uses] : endedUses
    const record = uses.length === 0 ? own : { ...own, jobs: [...(own.jobs ?? []), ...uses] }
    this.#services.ledger.close(
      record,
      (ledgerError, sequence, kept) => {
        limits?.recorded(record, sequence, kept, this.#answer)
        this.#countOwnTime()
        this.#services.observer.callEnded(record)
        this.#context.span?.ended(record)
        this.#finish(upstreamError, ledgerError, record)
      },
      limits?.reservedPico,
    )
  }

  #countOwnTime(): void {
    const { arrivedAt, attempt } = this.#context
    // Before a later attempt the call waited for other upstreams.
    if (attempt !== undefined && attempt.number > 1) return
    const beforeMs = this.#sentAt - arrivedAt
    this.#services.ownTime?.add((beforeMs + performance.now() - this.#endedAt) * 1000)
  }

  /** The record is written: the client may have the rest. */
  #finish(upstreamError: Error | null, ledgerError: Error | null, record: CallRecord): void {
    try {
      this.#delivery.finish(upstreamError, ledgerError, record)
    } catch (error) {
      this.#services.observer.callFailed(this.#context.call, error)
      cutAnswer(this.#context.response)
    } finally {
      this.#context.onEnd()
    }
  }
}

/** What all calls of a process share. */
export interface CallServices {
  readonly ledger: CallLedger
  readonly pricing: QuotingPricing
  readonly observer: CallObserver
  /** `drain`: an answer whose client has left is read to its end. */
  readonly onClientAbort: 'cancel' | 'drain'
  readonly unattended: Unattended
  /** Makes spans; absent: no one asked for them. */
  readonly tracer?: CallTracer | undefined
  /** Takes the microseconds that each call took in the gateway itself; absent: they are not counted. */
  readonly ownTime?: { add(us: number): void }
  /** Absent: estimates are as the constants say. */
  readonly ratios?: LearnedRatios
  /** The limits that hold for a key's calls, for answers that show them to programs of LiteLLM; absent: none does. */
  readonly shownLimits?: ((clientId: string, keyId: string) => readonly Limit[]) | undefined
}
