import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { UpstreamError } from '#http-client/answer-handler.ts'
import type { UpstreamFailure } from '../../call/call-ports.ts'
import type { OpenCall, Outcome } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import { cleanModel } from '../../domain/clean-text.ts'
import { ERRORS } from '../../http/errors.ts'
import type { Admission, AdmissionOptions } from '../admission/admission.ts'
import { countRefusal } from '../admission/admit.ts'
import { buildOpenCall, openCall } from '../admission/open-call.ts'
import type { BodyBudget } from '../bodies/body-budget.ts'
import type { CallServices } from '../proxy/exchange.ts'
import { failureCauseOf } from '../proxy/failures.ts'
import type { CallResult } from '../recording/call-result.ts'
import { priceResult } from '../recording/price-result.ts'
import type { PricedCall, QuotingPricing } from '../recording/pricing.ts'
import { endpointContextOf } from '../routing/route.ts'
import type { AttemptSpan } from '../tracing/call-span.ts'
import { BesideModel, modelsWithoutPrice } from './beside-model.ts'
import {
  acceptanceText,
  type HandshakeEvents,
  refuse,
  relayRejection,
  sendHandshake,
} from './send-handshake.ts'
import type { SessionMeter } from './session-meter.ts'
import { type MeteredSession, openMeter, recordSession } from './session-meter.ts'
import { POLICY_VIOLATION, SessionStreams, type StreamEvents } from './session-streams.ts'

export interface SessionOptions {
  readonly services: CallServices
  readonly bodyBudget: BodyBudget
  /** Milliseconds to wait for the upstream's answer to the handshake. */
  readonly handshakeTimeoutMs: number
  readonly admission: Pick<AdmissionOptions, 'now' | 'refused' | 'refusedUnknown' | 'limits' | 'objects'>
}

const NOT_ASKED_FOR = new UpstreamError('malformed_answer', 'an answer to a handshake that was not asked for')

/**
 * One session, from the handshake to its record. When it ends amid a response, the upstream is read on for
 * that response's usage. If that does not come, the record has an estimate of it and says so.
 */
export class Session implements MeteredSession, HandshakeEvents, StreamEvents {
  readonly #options: SessionOptions
  readonly #admission: Admission
  readonly #streams: SessionStreams
  readonly #onEnd: () => void
  readonly #ended = Promise.withResolvers<void>()
  #call: OpenCall
  #handshake: ClientRequest | null = null
  #attempt: AttemptSpan | null = null
  #beside: BesideModel | null = null
  /** Why its upstream took no session. */
  #cause: UpstreamFailure | null = null
  #meter: SessionMeter | null = null
  #status: number | null = null
  /** The client ended its connection, or the gateway did. */
  #clientGone = false
  /** The client has gone, and the upstream is read on: says that this is over. */
  #releaseUnattended: (() => void) | null = null
  /** The client's close frame waits for usage, and the upstream is silent. */
  #silence: NodeJS.Timeout | null = null
  #finalized = false

  constructor(
    options: SessionOptions,
    admission: Admission,
    client: Duplex,
    head: Buffer,
    onEnd: () => void,
  ) {
    this.#options = options
    this.#admission = admission
    this.#streams = new SessionStreams(client, head, this)
    this.#onEnd = onEnd
    const { method, arrivedAt, request } = admission
    admission.span = options.services.tracer?.begin({ method, arrivedAt, headers: request.headers }) ?? null
    this.#call = buildOpenCall(admission, options.admission.now())
  }

  get call(): OpenCall {
    return this.#call
  }

  nameModel(model: string): void {
    this.#call = { ...this.#call, requestedModel: cleanModel(model) }
  }

  start(): void {
    const { client } = this.#streams
    this.#streams.watchClient()
    openCall(this.#call, client, this.#options.services, (refusal) => {
      if (refusal === null) {
        this.#sendHandshake()
        return
      }
      this.#admission.span?.refused(refusal === 'gone' ? null : refusal.error)
      if (refusal !== 'gone') {
        countRefusal(refusal, this.#admission, this.#options.admission)
        refuse(client, this.#admission, refusal.error, refusal.detail)
      }
      this.#release()
    })
  }

  #sendHandshake(): void {
    const { span, route } = this.#admission
    this.#attempt = span?.attempt(this.#call, route.upstream) ?? null
    try {
      const { handshakeTimeoutMs } = this.#options
      this.#handshake = sendHandshake(this.#admission, handshakeTimeoutMs, this, this.#attempt)
    } catch (error) {
      // The credential for the upstream has ended in this moment.
      this.failed('upstream_unreachable', error instanceof Error ? error : new Error(String(error)))
    }
  }

  get takesClient(): boolean {
    return this.#streams.takesClient
  }

  judged(): void {
    this.#streams.passOn()
  }

  refused(reason: string): void {
    // What was said before is asked for already.
    this.#streams.passOn()
    void this.close(POLICY_VIOLATION, reason)
  }

  closing(): boolean {
    if (this.#finalized) return false
    this.#silence = setTimeout(() => this.#passClose(), this.#options.services.unattended.limits.closeMs)
    return true
  }

  pinged(payload: Buffer): void {
    // A client that has closed the session says nothing more, or what it says does not go on.
    if (this.#releaseUnattended !== null || this.holdsClose) this.#streams.answerPing(payload)
  }

  /** Usage has come, or the upstream sends no more of what it comes with. */
  #passClose(): void {
    this.#stopSilence()
    if (this.#releaseUnattended !== null) {
      this.#finish()
      return
    }
    this.#meter?.client.releaseClose()
    this.#streams.passOn()
  }

  #stopSilence(): void {
    if (this.#silence !== null) clearTimeout(this.#silence)
    this.#silence = null
  }

  runsBeside(model: string | null): void {
    const session = { admission: this.#admission, isOver: () => this.#finalized }
    this.#beside ??= new BesideModel(session, this.#options.admission)
    void this.#beside.run(model).then((reason) => {
      if (reason !== null) void this.close(POLICY_VIOLATION, reason)
    })
  }

  usageReported(observation: Observation): void {
    const { services, admission } = this.#options
    if (this.#finalized) return
    const reported = { call: this.#call, admission: this.#admission, observation }
    const reason = reserveSoFar(reported, services.pricing, admission, this.#beside)
    // Behind the bytes that reported it, which are still on their way to the client.
    if (reason !== null) setImmediate(() => void this.close(POLICY_VIOLATION, reason))
  }

  /** Ends the session with `code`; resolves when its record is written. */
  close(code: number, reason?: string): Promise<void> {
    const { client, upstream } = this.#streams
    if (upstream === null || client.destroyed) {
      // Its handshake, if it was sent, ends with the connection, and the record is made there.
      client.destroy()
    } else if (!this.#finalized && this.#releaseUnattended === null) {
      this.#streams.closeClient(code, reason)
      if (!this.#readOn()) this.#finish()
    }
    return this.#ended.promise
  }

  accepted(answer: IncomingMessage, upstream: Duplex, head: Buffer): void {
    upstream.on('error', () => upstream.destroy())
    if (answer.headers.upgrade?.toLowerCase() !== 'websocket') {
      // A protocol that the client did not ask for, and that has no reader here.
      upstream.destroy()
      this.failed('upstream_unreachable', NOT_ASKED_FOR)
      return
    }
    if (this.#streams.client.destroyed) {
      upstream.destroy()
      return
    }
    const { services, admission, bodyBudget } = this.#options
    const meter = openMeter(this, this.#admission, services, admission.objects, bodyBudget)
    if (meter !== null && (answer.headers['sec-websocket-extensions'] ?? '') !== '') {
      // None was asked for, so the client's side of the handshake would have to fail (RFC 6455 section 4.1).
      upstream.destroy()
      this.failed('upstream_unreachable', NOT_ASKED_FOR)
      return
    }
    this.#status = answer.statusCode ?? 101
    this.#meter = meter
    this.#streams.connect(upstream, acceptanceText(answer, this.#call.callId, this.#admission.rates), head)
  }

  /** The upstream accepts no session: its answer is the client's, and a GET's. */
  rejected(answer: IncomingMessage): void {
    this.#status = answer.statusCode ?? 502
    this.#finalized = true
    this.#streams.dropWaiting()
    const { client } = this.#streams
    const rejected = { call: this.#call, admission: this.#admission, client, answer, attempt: this.#attempt }
    relayRejection(this.#options.services, rejected, () => this.#release())
  }

  failed(error: 'upstream_timeout' | 'upstream_unreachable', reason: Error): void {
    // Behind an answer it is the end of the connection, which the streams report.
    if (this.#status !== null) return
    const cause = this.#finalized ? null : failureCauseOf(null, reason)
    if (cause !== null) this.#options.services.observer.upstreamFailed(this.#call, cause)
    this.#cause = cause
    this.#end('upstream_error', () => refuse(this.#streams.client, this.#admission, error))
  }

  clientSent(chunk: Buffer): void {
    this.#meter?.clientSent(chunk)
  }

  get passableBytes(): number {
    return this.#meter?.client.passableBytes ?? Number.POSITIVE_INFINITY
  }

  get isJudging(): boolean {
    return this.#meter?.client.isJudging ?? false
  }

  get holdsClose(): boolean {
    return this.#meter?.client.holdsClose ?? false
  }

  endsFrame(bytes: number): boolean {
    return this.#meter?.client.endsFrame(bytes) ?? true
  }

  upstreamSent(chunk: Buffer): void {
    const meter = this.#meter
    if (this.#finalized || meter === null) return
    const { messages } = meter
    meter.push(chunk)
    if (!meter.awaits) {
      if (this.#releaseUnattended !== null) this.#finish()
      else if (this.#silence !== null) this.#passClose()
    } else if (meter.messages > messages) this.#silence?.refresh()
  }

  clientLeft(isClosed: boolean): void {
    if (this.#finalized || this.#releaseUnattended !== null) return
    this.#clientGone = true
    const { client, upstream, upstreamEnded } = this.#streams
    if (upstream === null) {
      client.destroy()
      this.#handshake?.destroy()
      if (this.#handshake !== null) this.#end('client_aborted')
      return
    }
    if (!upstreamEnded && this.#readOn()) {
      this.#streams.separate()
      client.destroy()
    } else if (!isClosed) {
      this.#streams.endUpstream()
    } else {
      upstream.destroy()
      // Once the upstream has ended the session, the client's closing is only the echo.
      this.#end(upstreamEnded ? 'complete' : 'client_aborted')
    }
  }

  upstreamClosed(): void {
    const { upstreamEnded, clientClosed } = this.#streams
    const isCut = !upstreamEnded || this.#meter?.underWay === true
    const isClients = clientClosed || this.#clientGone
    if (this.#releaseUnattended !== null) this.#end('client_aborted')
    else this.#end(!isCut ? 'complete' : isClients ? 'client_aborted' : 'upstream_error')
  }

  /** Goes on without the client for a response under way. A close frame would make the upstream stop. */
  #readOn(): boolean {
    const meter = this.#meter
    if (meter === null || !meter.awaits) return false
    const { unattended } = this.#options.services
    const { answerMs } = unattended.limits
    this.#releaseUnattended = unattended.admit(this.#call.clientId, answerMs, () => this.#finish())
    return true
  }

  /** The session waits for nothing more. */
  #finish(): void {
    this.#streams.finish()
    this.#end('client_aborted')
  }

  #end(outcome: Outcome, afterwards: () => void = () => {}): void {
    if (this.#finalized) return
    this.#finalized = true
    this.#attempt?.ended(this.#status, this.#cause)
    this.#releaseUnattended?.()
    this.#stopSilence()
    this.#streams.dropWaiting()
    const session = {
      call: this.#call,
      status: this.#status,
      outcome,
      meter: this.#meter,
      isUnsaid: this.#meter?.client.isUnsaid === true,
    }
    recordSession(session, this.#admission, this.#options.services, () => {
      afterwards()
      this.#release()
    })
  }

  #release(): void {
    this.#onEnd()
    this.#ended.resolve()
  }
}

/** A session under way. */
interface SessionCost {
  readonly call: OpenCall
  readonly admission: Admission
  /** What its upstream has reported by now. */
  readonly observation: Observation
}

/**
 * Reserves what a session has cost so far. It may go on for hours, and other calls of its client must know.
 *
 * @returns Why the session has to end: a hard budget is spent, or holds for it while something that it used turned out
 *   to have no price; `null`: it may go on.
 */
function reserveSoFar(
  { call, admission, observation }: SessionCost,
  pricing: QuotingPricing,
  { limits: process }: Pick<AdmissionOptions, 'limits'>,
  beside: BesideModel | null,
): string | null {
  const { limits, caller, route } = admission
  if (limits === null || process === null) return null
  const cost = costSoFar(
    {
      call,
      client: caller,
      endpoint: endpointContextOf(route.dialect),
      status: 101,
      outcome: 'complete',
      observation,
      latencyUs: null,
      ttftUs: null,
      estimates: null,
    },
    pricing,
  )
  if (cost === null) return null
  const ofBeside = beside?.progress(cost.beside ?? []) ?? null
  const refusal = (cost.kind === 'priced' ? limits.progress(cost.costPico) : null) ?? ofBeside
  if (refusal !== null) return refusal.detail.message ?? ERRORS[refusal.error].message
  if (cost.kind === 'priced' && cost.isPartly !== true) return null
  const own = observation.model ?? call.requestedModel
  const { clientId, keyId } = caller
  const isRefused = [own, ...modelsWithoutPrice(observation, cost.beside ?? [])].some((model) =>
    process.limiter.refusesUnpriced({ ...call, clientId, keyId, model }),
  )
  return isRefused ? ERRORS.model_unpriced.message : null
}

/**
 * What a call under way has cost by what it reported; `null`: it reported nothing yet. No record is made of it, so the
 * definition of its price is left for one.
 */
function costSoFar(result: CallResult, pricing: QuotingPricing): PricedCall | null {
  const { observation } = result
  if (observation === null || observation.usageSource === 'none') return null
  const { usage, usageSource } = observation
  return priceResult(result, observation, usage, usageSource, { priceCall: pricing.quoteCall })
}
