import type { ServerResponse } from 'node:http'
import { UpstreamError } from '#http-client/answer-handler.ts'
import type { JobUse, OpenCall } from '../../../call/call-record.ts'
import { NOTHING_OBSERVED } from '../../../call/observation.ts'
import type { RetryCause } from '../../../config/yaml/routes.ts'
import type { CallRefusal } from '../../../http/errors.ts'
import type { Admission } from '../../admission/admission.ts'
import { buildOpenCall, openCall } from '../../admission/open-call.ts'
import { type CallBody, UNREAD_BODY } from '../../bodies/body-reading.ts'
import { encodeSnapshotOf } from '../../recording/snapshot-saver.ts'
import type { Circuits } from '../../routing/circuits.ts'
import type { Route } from '../../routing/route.ts'
import type { ModelRoute } from '../../routing/upstream-table.ts'
import { type DispatchOptions, dispatch } from '../dispatch.ts'
import { failureCauseOf } from '../failures.ts'
import { prepareBody } from '../prepare-body.ts'
import { Attempt, type AttemptFailure, type AttemptOwner } from './attempt.ts'
import { useOfGivenUp } from './attempt-use.ts'
import { causeOfStatus } from './retry-rules.ts'

/**
 * The member by which OpenAI's responses are made behind their answers, and its letters escaped, which no library does. In
 * a text it costs no more than a retry.
 */
const BACKGROUND = ['"background"', '\\u006', '\\u007'] as const

/**
 * A call by a name of `routes`: it asks one target after another until one answers, and leaves one record, of the one
 * that did. Before each attempt after the first, the journal has which it is, and what those before it may be billed for.
 */
export class RoutedCall implements AttemptOwner {
  readonly #options: DispatchOptions
  readonly #admission: Admission
  readonly #response: ServerResponse
  readonly #rules: ModelRoute
  readonly #candidates: readonly Route[]
  /** The same for all calls of a process: they tell of upstreams, whatever a reload has made of the routes. */
  readonly #circuits: Circuits | undefined
  /** As the client sent it: each target gets its own model's name in it. */
  #body: CallBody
  readonly #hasHeldBody: boolean
  /** Grows while attempts end; the records of later ones have all of it. */
  readonly #uses: JobUse[] = []
  /** Targets that asked for patience, or that do not take the call. */
  readonly #ruledOut: Route[] = []
  #attempt: Attempt | null = null
  #call: OpenCall | null = null
  #number = 0
  #place = 0
  #wasSent = false
  /** An attempt is over, and the next one is not sent yet. */
  #isBetween = false
  #hasAnswer = false

  constructor(options: DispatchOptions, admission: Admission, response: ServerResponse) {
    const { choice } = admission.route
    if (choice === null) throw new Error('the call is not by a route')
    this.#options = options
    this.#admission = admission
    this.#response = response
    this.#rules = choice.rules
    this.#candidates = admission.candidates
    this.#circuits = options.admission.upstreams.routes?.circuits
    this.#body = admission.body
    const { sent, form } = admission.body
    this.#hasHeldBody = !admission.hasBody || sent !== null || form?.isWhole === true
  }

  /** @param onRefused Called where nothing was sent: why, or that the client left. */
  start(onRefused: (refusal: CallRefusal | 'gone') => void): void {
    const admission = this.#admission
    prepareBody(admission, (body) => {
      if (body === 'gone') {
        onRefused('gone')
        return
      }
      admission.body = body
      const call = buildOpenCall(admission, this.#options.admission.now())
      openCall(call, this.#response, this.#options.services, (refusal) => {
        if (refusal !== null) {
          onRefused(refusal)
          return
        }
        this.#response.on('close', () => {
          if (!this.#response.writableFinished) this.#clientLeft()
        })
        this.#send(call)
      })
    })
  }

  mayRetry(attempt: Attempt, cause: RetryCause | null): boolean {
    const { retryOn, attempts } = this.#rules
    if (cause === null || !retryOn.includes(cause) || this.#number >= attempts) return false
    if (this.#response.destroyed || !this.#isRepeatable(attempt)) return false
    return this.#nextPlace(rulesOut(attempt, cause)) !== null
  }

  answered(attempt: Attempt): void {
    this.#hasAnswer = true
    this.#body = UNREAD_BODY
    const { status, context, state } = attempt
    if (status !== null && causeOfStatus(status, context.hasOurCredential) === '5xx')
      this.#reportFailure(attempt, { cause: '5xx', error: null })
    else this.#circuits?.served(context.call.upstream, state.startedAt)
  }

  failed(attempt: Attempt, failure: AttemptFailure): void {
    this.#wasSent ||= attempt.isBegun
    this.#isBetween = true
    this.#reportFailure(attempt, failure)
    this.#next(attempt, failure).catch((error: unknown) => {
      this.#options.services.observer.callFailed(attempt.context.call, error)
      this.#isBetween = false
      attempt.giveUp(error instanceof Error ? error : new Error(String(error)))
    })
  }

  #send(call: OpenCall): void {
    const { upstream } = call
    this.#call = call
    this.#number += 1
    this.#isBetween = false
    this.#circuits?.began(upstream)
    const state = { number: this.#number, uses: this.#uses, startedAt: performance.now() }
    // What a client still sends takes as long as it takes.
    this.#attempt = new Attempt(this, state, this.#hasHeldBody ? this.#rules.firstByteTimeoutMs : null)
    dispatch(this.#options, this.#admission, this.#response, call, this.#attempt)
  }

  /**
   * Bytes that are gone cannot be sent again. Work that goes on behind its answer must not be begun twice, and what names
   * an object belongs where that is kept.
   */
  #isRepeatable(attempt: Attempt): boolean {
    const { route, names } = this.#admission
    if (!this.#hasHeldBody || names.ids.length > 0) return false
    const runsOn =
      route.reading === 'deferred' || BACKGROUND.some((part) => this.#body.plain?.includes(part) === true)
    return !runsOn || !attempt.isBegun
  }

  /** The candidate to be tried after this failure; `null`: none is left. */
  #nextPlace(isRuledOut: boolean): number | null {
    const candidates = this.#candidates
    const isOut = (route: Route, at: number) =>
      this.#ruledOut.includes(route) || (isRuledOut && at === this.#place)
    for (let step = 1; step <= candidates.length; step += 1) {
      const at = (this.#place + step) % candidates.length
      const route = candidates[at]
      if (route !== undefined && !isOut(route, at)) return at
    }
    return null
  }

  async #next(attempt: Attempt, { cause, error }: AttemptFailure): Promise<void> {
    const { services } = this.#options
    const mayRetry = this.mayRetry(attempt, cause)
    // With an answer it is known to be no good one.
    const use =
      attempt.isBegun && error !== null && (mayRetry || attempt.status === null)
        ? await useOfGivenUp(attempt.context, services, attempt)
        : null
    // Each attempt may be billed: what is reserved for one answer would not be enough for all.
    const { limits } = this.#admission
    const willRetry = mayRetry && (limits === null || (await limits.spend(BigInt(use?.costPico ?? '0'))))
    const isLeft = this.#response.destroyed
    // Where the call ends with an answer that had begun, its record says itself what it may have used.
    if (use !== null && (willRetry || isLeft || attempt.status === null)) this.#uses.push(use)
    if (isLeft) {
      this.#endAway(attempt)
      return
    }
    const isRuledOut = rulesOut(attempt, cause)
    const place = willRetry ? this.#nextPlace(isRuledOut) : null
    const from = this.#candidates[this.#place]
    const to = place === null ? undefined : this.#candidates[place]
    if (place === null || from === undefined || to === undefined) {
      this.#isBetween = false
      attempt.giveUp(error ?? new UpstreamError('closed', 'no target answered'))
      return
    }
    if (isRuledOut) this.#ruledOut.push(from)
    const { call } = attempt.context
    const why =
      failureCauseOf(attempt.status, error) ??
      (attempt.status === 401 ? 'credential_refused' : 'server_error')
    attempt.context.attemptSpan?.ended(attempt.status, why)
    services.observer.upstreamFailed(call, why)
    services.observer.attemptFailed(call, cause ?? 'connect')
    this.#place = place
    this.#prepare(attempt, to, error)
  }

  #prepare(before: Attempt, to: Route, error: Error | null): void {
    const admission = this.#admission
    const { ledger } = this.#options.services
    admission.route = to
    admission.body = this.#body
    prepareBody(admission, (body) => {
      if (body === 'gone') {
        this.#endAway(before)
        return
      }
      admission.body = body
      const { upstream, provider, path, requestedModel } = buildOpenCall(
        admission,
        this.#options.admission.now(),
      )
      const call = { ...before.context.call, upstream, provider, path, requestedModel }
      const asked = {
        call,
        client: admission.caller,
        dialect: to.dialect,
        attempt: { number: this.#number + 1, uses: this.#uses, startedAt: 0 },
      }
      const snapshot = () => encodeSnapshotOf(asked, NOTHING_OBSERVED, null)
      ledger.saveSnapshotNow(call, snapshot, (refused) => {
        if (this.#response.destroyed) this.#endAway(before)
        else if (refused === null) this.#send(call)
        else {
          // Without it a crash would be settled with the attempt before.
          this.#isBetween = false
          before.giveUp(error ?? refused)
        }
      })
    })
  }

  /** The client left, and nothing is under way: it is a call where something of it was sent before. */
  #endAway(attempt: Attempt): void {
    this.#isBetween = false
    if (this.#wasSent) attempt.endUnsent()
    else attempt.discard()
  }

  #clientLeft(): void {
    const attempt = this.#attempt
    if (this.#isBetween || attempt === null) return
    const call = this.#call
    if (!this.#hasAnswer && call !== null) this.#circuits?.untold(call.upstream)
    if (!attempt.clientLeft()) this.#endAway(attempt)
  }

  /** What the client may have brought about itself says nothing of the upstream: a body that broke off, an odd head. */
  #reportFailure(attempt: Attempt, { cause, error }: AttemptFailure): void {
    const { clientId, upstream } = attempt.context.call
    const isOwn = error instanceof UpstreamError && error.code === 'pool_closed'
    if (cause === '408' || cause === '429') this.#circuits?.served(upstream, attempt.state.startedAt)
    else if (cause === null || isOwn || !this.#hasHeldBody) this.#circuits?.untold(upstream)
    else this.#circuits?.failed(upstream, clientId, attempt.isBegun ? 'answer' : 'connect')
  }
}

/** Whether its target is not asked again for the call: it wants patience, or refuses the gateway's credential. */
function rulesOut({ status }: Attempt, cause: RetryCause | null): boolean {
  return cause === '429' || status === 401
}
