import type { ServerResponse } from 'node:http'
import type { Dispatcher } from 'undici'
import type { CallLedger } from '../../call/call-ledger.ts'
import type { CallObserver } from '../../call/call-observer.ts'
import type { CallRecord, OpenCall, Outcome } from '../../call/call-record.ts'
import type { Observation } from '../../call/observation.ts'
import { type BodyDecoder, createDecoder } from '../../http/codings/decode.ts'
import { mayBeCoded } from '../../http/codings/sniff-coding.ts'
import type { ErrorName } from '../../http/errors.ts'
import { setWriteIdleTimeout } from '../../http/socket-timeouts.ts'
import type { Dialect, RequestContext, UsageReader } from '../../providers/dialect.ts'
import { answerHasEnded } from '../estimation/answer-end.ts'
import { type DeliveredSample, estimateInput, openDeliveredSample } from '../estimation/estimate.ts'
import { isCountedUpstreamOnly, reportsNoTokens } from '../estimation/hidden-output.ts'
import { unseenTokens } from '../estimation/unseen-output.ts'
import type { CallResult, Estimates } from '../recording/call-result.ts'
import { finalizeCall, finalizeWithEstimate, needsEstimate } from '../recording/finalize-call.ts'
import type { Pricing } from '../recording/pricing.ts'
import { encodeUsageSnapshot } from '../recording/usage-snapshot.ts'
import { endpointContextOf } from '../routing/endpoint-context.ts'
import { announcedLength, errorCodeOf, pairsOf, rawHeadersOf, writableReason } from './answer-parts.ts'
import { forwardableResponseHeaders } from './headers.ts'
import { UsageEventFilter } from './include-usage.ts'
import type { Unattended } from './unattended.ts'

/** An answer of announced length up to this is held and sent in one piece with its headers. */
const HELD_ANSWER_BYTES = 64 * 1024
/** How often one stream may be held until its usage is in the journal; then notes are written behind it. */
const MAX_HOLDS = 3
/**
 * Some streams have running counts in every event, and the journal writes notes about once a second: they wait this
 * long for later ones, and the last before a pause is noted too.
 */
const RUNNING_SNAPSHOT_MS = 250
/** A compressed answer is decoded a moment behind its bytes: what a client had seen when it left is known by then. */
const DECODING_MS = 200

export interface ProxiedCallOptions {
  readonly ledger: CallLedger
  readonly pricing: Pricing
  readonly observer: CallObserver
  readonly onClientAbort: 'cancel' | 'drain'
  readonly unattended: Unattended
}

export interface ProxiedCallContext {
  readonly call: OpenCall
  readonly clientName: string
  readonly request: RequestContext
  /** Monotonic milliseconds at the request's arrival. */
  readonly arrivedAt: number
  readonly dialect: Dialect | null
  /** We asked for the usage event, so it is taken out again. */
  readonly stripUsageEvent: boolean
  /** The request's body where it was read, for an estimate of its tokens. */
  readonly requestBody: Buffer | null
  /** Length of the request's body where it was read, also where it was too long to be kept; else 0. */
  readonly requestBytes: number
}

/** How a call that got no answer is answered to the client. */
export type AnswerError = (response: ServerResponse, code: ErrorName, dialect: Dialect | null) => void

/**
 * One call on its way through the upstream and back: undici calls its `on…` methods in the order of the response, and it passes the
 * bytes on, shows them to the reader, and ends in exactly one record.
 *
 * The last byte goes to the client only when the record is in the journal:
 * a client that has a whole answer implies a record that survives a kill.
 */
export class ProxiedCall implements Dispatcher.DispatchHandler {
  readonly #options: ProxiedCallOptions
  #context: ProxiedCallContext
  readonly #response: ServerResponse
  readonly #answerError: AnswerError
  readonly #onEnd: () => void

  #controller: Dispatcher.DispatchController | null = null
  #clientGone = false
  /** Ends the reading on without a client, while it lasts. */
  #continueUnattended: (() => void) | null = null
  /** We ended an answer that may hold tokens which nobody saw. */
  #cutUnseen = false
  #ended = false
  #released = false

  #status: number | null = null
  #statusMessage = ''
  #contentType = ''
  #headers: string[] = []
  #trailers: string[] | null = null
  #firstByteAt: number | null = null

  #reader: UsageReader | null = null
  /** What was delivered could not be read, or not all of it: nobody knows what it was. */
  #unreadable = false
  #decoder: BodyDecoder | null = null
  #sample: DeliveredSample | null = null
  #filter: UsageEventFilter | null = null
  #revision = 0
  #holds = 0
  #snapshotTimer: NodeJS.Timeout | null = null

  /** `hold`: the whole answer waits for its end. `stream`: pieces are written as they come. */
  #mode: 'hold' | 'stream' = 'stream'
  #announcedBytes: number | null = null
  #passedBytes = 0
  #headWritten = false
  /** Pieces not to be written yet. */
  #held: Buffer[] = []
  #holding = false

  constructor(
    options: ProxiedCallOptions,
    context: ProxiedCallContext,
    response: ServerResponse,
    answerError: AnswerError,
    onEnd: () => void,
  ) {
    this.#options = options
    this.#context = context
    this.#response = response
    this.#answerError = answerError
    this.#onEnd = onEnd
  }

  /** What the request's body, still on its way, names as the call's model, or no longer leaves without doubt. */
  nameModel(model: string | null): void {
    const { call, request } = this.#context
    this.#context = {
      ...this.#context,
      call: { ...call, requestedModel: model },
      request: { ...request, model },
    }
  }

  get callId(): string {
    return this.#context.call.callId
  }

  /** The client's connection closed before its answer was whole. */
  clientLeft(): void {
    if (this.#clientGone || this.#released) return
    this.#clientGone = true
    this.#held = []
    if (this.#ended) return
    // Before a byte went upstream there is nothing to read on: see `onRequestStart`.
    if (this.#controller === null) return
    const { usageMs, answerMs } = this.#options.unattended.limits
    if (this.#options.onClientAbort === 'drain' || this.#isCountedUpstreamOnly()) this.#readOn(answerMs)
    else if (this.#hasEnded()) this.#readOn(usageMs)
    else if (this.#decoder === null) this.#cancel()
    else this.#readOn(DECODING_MS, () => (this.#hasEnded() ? this.#readOn(usageMs) : this.#cancel()))
  }

  /** Goes on without the client, for what the upstream still has to tell; then `giveUp`. */
  #readOn(ms: number, giveUp = () => this.#cancel()): void {
    const { clientId } = this.#context.call
    this.#continueUnattended = this.#options.unattended.admit(clientId, ms, giveUp)
    if (this.#continueUnattended === null) this.#cancel()
    else this.#controller?.resume()
  }

  #cancel(): void {
    if (this.#ended) return
    this.#cutUnseen = this.#isCountedUpstreamOnly()
    this.#controller?.abort(new Error('client left'))
  }

  /** Whether the generated part of the answer has passed. */
  #hasEnded(): boolean {
    return this.#sample !== null && answerHasEnded(this.#sample.kept(), this.#contentType)
  }

  #isCountedUpstreamOnly(): boolean {
    const { dialect, request, requestBody, call } = this.#context
    return isCountedUpstreamOnly({
      provider: call.provider,
      dialect,
      request,
      requestBody,
      status: this.#status,
      contentType: this.#contentType,
      reader: this.#reader,
      sample: this.#sample,
    })
  }

  /** Whether the answer has ended well without the usage, of a model whose answers do not show all of it. */
  #endedUnreported(): boolean {
    return this.#passedBytes > 0 && this.#reader?.peek().failed !== true && this.#isCountedUpstreamOnly()
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#clientGone) {
      // It left while the connection was being made: nothing was sent yet, and nothing will be. No controller: no call.
      controller.abort(new Error('client left'))
      return
    }
    this.#controller = controller
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
    statusMessage?: string,
  ): void {
    if (status < 200) return
    this.#status = status
    this.#statusMessage = writableReason(status, statusMessage ?? '')
    const encoding = headers['content-encoding']
    this.#contentType = String(headers['content-type'] ?? '').toLowerCase()
    this.#openReader(status, headers, typeof encoding === 'string' ? encoding : null)
    this.#announcedBytes = announcedLength(headers['content-length'])
    const isEventStream = this.#contentType.startsWith('text/event-stream')
    if (this.#context.stripUsageEvent && status === 200 && isEventStream && encoding === undefined) {
      this.#filter = new UsageEventFilter()
      this.#announcedBytes = null
    }
    this.#headers = forwardableResponseHeaders(rawHeadersOf(controller), this.#filter !== null)
    this.#headers.push('x-tallygate-call-id', this.#context.call.callId)
    if (this.#clientGone) return
    const bodyless = this.#context.request.method === 'HEAD' || status === 204 || status === 304
    if (bodyless || (this.#announcedBytes !== null && this.#announcedBytes <= HELD_ANSWER_BYTES)) {
      this.#mode = 'hold'
      return
    }
    // A stream's first event may be long in coming; its headers are not held back for it.
    setImmediate(() => {
      if (this.#headWritten || this.#clientGone || this.#released) return
      try {
        this.#writeHead()
        this.#response.flushHeaders()
      } catch (error) {
        // Nobody above catches here, and what one upstream wrote must not end the process.
        controller.abort(error instanceof Error ? error : new Error(String(error)))
      }
    })
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#firstByteAt ??= performance.now()
    this.#passedBytes += chunk.length
    this.#read(chunk)
    if (this.#clientGone) return
    if (this.#filter !== null) {
      for (const piece of this.#filter.push(chunk)) this.#pass(controller, piece)
    } else {
      this.#pass(controller, chunk)
    }
  }

  onResponseEnd(
    _controller: Dispatcher.DispatchController,
    trailers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#ended) return
    this.#trailers =
      trailers === null || trailers === undefined ? null : Object.entries(trailers).flat().map(String)
    if (this.#filter !== null && !this.#clientGone) this.#held.push(...this.#filter.end())
    this.#end(this.#clientGone ? 'client_aborted' : 'complete', null)
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#ended) return
    if (this.#clientGone && this.#controller === null) {
      // It never left this machine: not a call.
      this.#ended = true
      this.#options.ledger.discard(this.#context.call.callId)
      this.#onEnd()
      return
    }
    if (this.#filter !== null && this.#headWritten && !this.#clientGone) {
      // The answer is cut, but what came of it is the client's.
      for (const piece of this.#filter.end()) this.#pass(null, piece)
    }
    this.#end(this.#clientGone ? 'client_aborted' : 'upstream_error', error)
  }

  #openReader(
    status: number,
    headers: Record<string, string | string[] | undefined>,
    encoding: string | null,
  ): void {
    const { dialect, request } = this.#context
    if (dialect === null) return
    try {
      const reader = dialect.createReader(request, { status, headers })
      this.#reader = reader
      this.#revision = reader.revision
      this.#sample = openDeliveredSample(dialect, this.#context.call.clientId)
      if (encoding !== null && encoding !== 'identity') {
        this.#decoder = this.#openDecoder(reader, encoding)
      }
    } catch (error) {
      this.#readingFailed(error)
    }
  }

  #openDecoder(reader: UsageReader, encoding: string): BodyDecoder {
    return createDecoder(encoding, (decoded) => {
      reader.push(decoded)
      this.#sample?.push(decoded)
      if (reader.revision !== this.#revision && !this.#ended) this.#snapshotUsage(reader)
    })
  }

  #read(chunk: Buffer): void {
    if (this.#reader === null) return
    try {
      const isFirst = this.#passedBytes === chunk.length
      if (isFirst && this.#decoder === null && mayBeCoded(chunk[0])) {
        this.#decoder = this.#openDecoder(this.#reader, 'identity')
      }
      if (this.#decoder !== null) {
        this.#decoder.push(chunk)
        return
      }
      this.#reader.push(chunk)
      this.#sample?.push(chunk)
      if (this.#reader.revision !== this.#revision) this.#snapshotUsage(this.#reader)
    } catch (error) {
      this.#readingFailed(error)
    }
  }

  /**
   * Usage passed. Final counts are in the journal before the client sees them: a client may take `[DONE]` for the
   * end and be content although the connection was cut after it. Running counts are noted behind the bytes.
   */
  #snapshotUsage(reader: UsageReader): void {
    this.#revision = reader.revision
    if (this.#mode === 'hold') return
    const observed = reader.peek()
    if (observed.usageSource === 'none') return
    if (
      observed.usageSource !== 'reported' ||
      this.#holds >= MAX_HOLDS ||
      this.#holding ||
      this.#clientGone
    ) {
      this.#snapshotTimer ??= setTimeout(() => this.#snapshotWhileRunning(), RUNNING_SNAPSHOT_MS)
      return
    }
    this.#holds += 1
    this.#holding = true
    this.#options.ledger.saveSnapshotNow(this.#context.call.callId, this.#encode(observed), () => {
      this.#holding = false
      // Once the body has ended, what is held waits for the record instead.
      if (this.#ended || this.#clientGone) return
      const held = this.#held
      this.#held = []
      for (const piece of held) this.#pass(this.#controller, piece)
    })
  }

  #snapshotWhileRunning(): void {
    this.#snapshotTimer = null
    if (this.#reader === null) return
    this.#options.ledger.saveSnapshot(this.#context.call.callId, this.#encode(this.#reader.peek()))
  }

  #encode(observation: Observation): string {
    const { clientName, dialect } = this.#context
    const { responseUse } = endpointContextOf(dialect)
    return encodeUsageSnapshot({ observation, status: this.#status ?? 200, clientName, responseUse })
  }

  #readingFailed(error: unknown): void {
    this.#unreadable = true
    this.#reader = null
    this.#decoder?.destroy()
    this.#decoder = null
    this.#options.observer.readingFailed(this.#context.call.provider, error)
  }

  #pass(controller: Dispatcher.DispatchController | null, piece: Buffer): void {
    if (this.#mode === 'hold' || this.#holding) {
      this.#held.push(piece)
      return
    }
    if (this.#announcedBytes !== null && this.#passedBytes >= this.#announcedBytes) {
      // The length was announced, so with this piece the client has all: it waits for the record.
      this.#held.push(piece)
      return
    }
    if (!this.#headWritten) this.#writeHead()
    if (!this.#response.write(piece) && controller !== null) {
      controller.pause()
      setWriteIdleTimeout(this.#response, 'drain')
      this.#response.once('drain', () => controller.resume())
    }
  }

  #writeHead(): void {
    this.#headWritten = true
    this.#response.sendDate = false
    this.#response.writeHead(this.#status ?? 502, this.#statusMessage, this.#headers)
  }

  #end(outcome: Outcome, error: Error | null): void {
    this.#ended = true
    this.#continueUnattended?.()
    if (this.#snapshotTimer !== null) clearTimeout(this.#snapshotTimer)
    const endedAt = performance.now()
    if (this.#decoder === null) {
      this.#finalize(outcome, error, endedAt)
      return
    }
    this.#decoder.end((result) => {
      // What stands behind the last usage (a proxy's junk) takes nothing back.
      if (result === 'unreadable' && !this.#hasReported())
        this.#readingFailed(new Error('content-encoding could not be decoded'))
      this.#finalize(outcome, error, endedAt)
    })
  }

  #hasReported(): boolean {
    try {
      return this.#reader?.peek().usageSource === 'reported'
    } catch {
      return false
    }
  }

  #finalize(outcome: Outcome, error: Error | null, endedAt: number): void {
    const { pricing, observer } = this.#options
    const { call, arrivedAt } = this.#context
    const result: CallResult = {
      call,
      client: this.#context,
      endpoint: endpointContextOf(this.#context.dialect),
      status: this.#status,
      outcome,
      observation: this.#observe(error === null),
      latencyUs: this.#status === null ? null : (endedAt - arrivedAt) * 1000,
      ttftUs: this.#firstByteAt === null ? null : (this.#firstByteAt - arrivedAt) * 1000,
      estimates: this.#estimates(endedAt - arrivedAt, error === null),
    }
    if (result.observation?.totalMismatch === true) observer.totalMismatch(call.provider)
    if (!needsEstimate(result)) {
      this.#record(finalizeCall(result, pricing), error)
      return
    }
    finalizeWithEstimate(result, pricing).then(
      (record) => this.#record(record, error),
      (reason: unknown) => {
        observer.readingFailed(call.provider, reason)
        this.#record(finalizeCall(result, pricing), error)
      },
    )
  }

  #observe(bodyIsWhole: boolean): Observation | null {
    if (this.#reader === null) return null
    try {
      return bodyIsWhole ? this.#reader.end() : this.#reader.peek()
    } catch (error) {
      this.#readingFailed(error)
      return null
    }
  }

  /** @param isWhole the upstream ended the answer by itself, so what it does not tell by then it never will */
  #estimates(tookMs: number, isWhole: boolean): Estimates | null {
    const { call, dialect, requestBody, requestBytes, request } = this.#context
    if (dialect === null || dialect.isFree === true || reportsNoTokens(dialect)) return null
    const sample = this.#sample
    return {
      estimateInput: () => estimateInput(call.clientId, dialect, requestBody, requestBytes, request.model),
      estimateOutput: async () => {
        if (this.#unreadable) return null
        const isUnseen = this.#cutUnseen || (isWhole && this.#endedUnreported())
        const delivered = sample === null ? 0 : await sample.estimateOutput(request.model)
        return isUnseen ? Math.max(unseenTokens(tookMs), delivered) : delivered
      },
    }
  }

  #record(record: CallRecord, upstreamError: Error | null): void {
    this.#options.ledger.close(record, (error) => {
      this.#options.observer.callEnded(record)
      this.#release(upstreamError, error)
    })
  }

  /** The record is written: the client may have the rest. */
  #release(upstreamError: Error | null, ledgerError: Error | null): void {
    this.#released = true
    try {
      this.#finishResponse(upstreamError, ledgerError)
    } catch (error) {
      this.#options.observer.callFailed(this.#context.call, error)
      this.#response.destroy()
    } finally {
      this.#onEnd()
    }
  }

  #finishResponse(upstreamError: Error | null, ledgerError: Error | null): void {
    const response = this.#response
    if (this.#clientGone || response.destroyed) return
    if (ledgerError !== null) {
      // Without a record the client must not have a whole answer: it is cut, and the caller may try again.
      response.destroy()
      return
    }
    if (upstreamError !== null) {
      if (this.#headWritten) this.#cut(response)
      else this.#answerError(response, errorCodeOf(upstreamError), this.#context.dialect)
      return
    }
    if (!this.#headWritten) this.#writeHead()
    const last = this.#held.length === 1 ? this.#held[0] : Buffer.concat(this.#held)
    if (this.#trailers !== null && this.#trailers.length > 0 && this.#announcedBytes === null) {
      response.addTrailers(pairsOf(this.#trailers))
    }
    if (last === undefined || last.length === 0) response.end()
    else response.end(last)
    if (response.writableLength > 0) setWriteIdleTimeout(response, 'finish')
  }

  /** The upstream broke off: the client gets what came, and sees that it is not the whole. */
  #cut(response: ServerResponse): void {
    if (this.#held.length === 0) response.destroy()
    else response.write(Buffer.concat(this.#held), () => response.destroy())
  }
}
