import type { CallLedger, CallObserver } from '../../call/call-ports.ts'
import type { Observation } from '../../call/observation.ts'
import { MAX_COUNT } from '../../call/usage.ts'
import { type BodyDecoder, createDecoder, mayBeCoded } from '../../http/codings/decode.ts'
import type { UpperUse } from '../../limits/engine/limiter.ts'
import type { ResponseHead, UsageReader } from '../../providers/dialect.ts'
import { answerHasEnded } from '../estimation/answer-end.ts'
import { forcesCall } from '../estimation/called-tools.ts'
import {
  type AnswerSoFar,
  isCountedUpstreamOnly,
  mayHideOutput,
  reportsNoTokens,
} from '../estimation/determined-use.ts'
import { type DeliveredSample, estimateInput, openDeliveredSample } from '../estimation/estimate.ts'
import type { LearnedKind, LearnedRatios } from '../estimation/learning/learned-ratios.ts'
import { answerKind, measureCall, promptKind } from '../estimation/learning/measured-call.ts'
import { showsItsPrompt } from '../estimation/shown-prompt.ts'
import { unseenTokens } from '../estimation/unseen-output.ts'
import type { CallContext, CallResult, Estimates } from './call-result.ts'
import { type HoldableDelivery, SnapshotSaver } from './snapshot-saver.ts'

type Services = {
  readonly ledger: CallLedger
  readonly observer: CallObserver
  /** Absent: nothing is learned, and estimates are as the constants say. */
  readonly ratios?: LearnedRatios
}

/** Four words of English are 24, as many letters of Hindi 60; times stand between the lines of subtitles. */
const MOST_BYTES_SPOKEN_A_SECOND = 64

/** Those of OpenAI and of all that took them over, and of Anthropic. */
const DEARER_TIERS: ReadonlySet<string> = new Set(['priority', 'fast'])

/**
 * The answer of one call, read while its bytes pass: its dialect's reader looks for usage, a sample of it
 * is kept for an estimate. Reading never fails the call: what cannot be read is recorded as such.
 */
export class ObservedAnswer implements Estimates {
  readonly #context: CallContext
  readonly #services: Services
  readonly #delivery: HoldableDelivery
  #status: number | null = null
  #contentType = ''
  #bytes = 0
  #reader: UsageReader | null = null
  #revision = 0
  #decoder: BodyDecoder | null = null
  #sample: DeliveredSample | null = null
  #snapshots: SnapshotSaver | null = null
  /** What was delivered could not be read, or not all of it, so its tokens are unknown. */
  #unreadable = false
  #ended = false
  /** The upstream ended the answer by itself: what it has not reported by then, it never will. */
  #isWhole = false
  /** It was cut while only the upstream could tell what it uses. */
  #isCutUncounted = false
  /** From the request's arrival to the answer's end. */
  #tookMs = 0

  constructor(context: CallContext, services: Services, delivery: HoldableDelivery) {
    this.#context = context
    this.#services = services
    this.#delivery = delivery
  }

  /** Whether the bytes are read through a decoder, which is a moment behind them. */
  get isCoded(): boolean {
    return this.#decoder !== null
  }

  /** Whether the bytes read last are whole events of which none reports usage or an error. */
  get hasNoUsage(): boolean {
    return this.#decoder === null && this.#reader?.hasNoUsage === true
  }

  /** The lengths of the bodies of a call of a tool; `undefined`: it is none. */
  get bytesOfTool(): CallResult['bytes'] {
    const { dialect, call, requestBytes } = this.#context
    if (dialect?.callsTools === undefined || call.requestedModel === null) return undefined
    return { request: requestBytes, answer: Math.min(this.#bytes, MAX_COUNT) }
  }

  /** The head of the answer has come. */
  begin(status: number, headers: ResponseHead['headers']): void {
    this.#status = status
    this.#contentType = String(headers['content-type'] ?? '').toLowerCase()
    const { dialect, request, call } = this.#context
    if (dialect === null) return
    try {
      const reader = dialect.createReader(request, { status, headers })
      this.#reader = reader
      this.#revision = reader.revision
      this.#sample = openDeliveredSample(dialect, call.clientId)
      const encoding = headers['content-encoding']
      if (typeof encoding === 'string' && encoding !== 'identity') {
        this.#decoder = createDecoder(encoding, (decoded) => this.#push(reader, decoded))
      }
    } catch (error) {
      this.#fail(error)
    }
  }

  /** The next bytes of the body, as the upstream sent them. */
  read(chunk: Buffer): void {
    const isFirst = this.#bytes === 0
    this.#bytes += chunk.length
    const reader = this.#reader
    if (reader === null) return
    try {
      if (isFirst && this.#decoder === null && mayBeCoded(chunk[0])) {
        this.#decoder = createDecoder('identity', (decoded) => this.#push(reader, decoded))
      }
      if (this.#decoder !== null) this.#decoder.push(chunk)
      else this.#push(reader, chunk)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** No more bytes come. Those of a coded answer are known only after {@link finishDecoding}. */
  stop(): void {
    this.#ended = true
    this.#snapshots?.stop()
  }

  /** Calls back once a coded answer is decoded as far as it came. */
  finishDecoding(onDecoded: () => void): void {
    this.#decoder?.end((result) => {
      // Bytes behind the last usage (a proxy's junk) take nothing back.
      if (result === 'unreadable' && !this.#hasReported()) {
        this.#fail(new Error('content-encoding could not be decoded'))
      }
      onDecoded()
    })
  }

  /**
   * What the answer reported in all; `null`: it was not read, or could not be. Called once.
   *
   * @param isWhole the upstream ended the answer as it should
   * @param tookMs from the request's arrival to the answer's end
   */
  end(isWhole: boolean, tookMs: number): Observation | null {
    this.#isWhole = isWhole
    this.#tookMs = tookMs
    if (this.#reader === null) return null
    try {
      const observed = isWhole ? this.#reader.end() : this.#reader.peek()
      if (observed.usageSource === 'reported') this.#learnFrom(observed)
      return this.#withSound(this.#atAskedTier(observed))
    } catch (error) {
      this.#fail(error)
      return null
    }
  }

  /** An answer that ends before it says at which tier it was served: at the dearer one that was asked for. */
  #atAskedTier(observed: Observation): Observation {
    const isSaid = observed.serviceTier !== null && observed.serviceTier !== 'auto'
    if (observed.usageSource === 'reported' || isSaid) return observed
    const asked = this.#context.askedTiers?.find((tier) => DEARER_TIERS.has(tier))
    return asked === undefined ? observed : { ...observed, serviceTier: asked }
  }

  /** Of sound that was written down, where no one says how long it was: what the file says, and what it takes to speak. */
  #withSound(observed: Observation): Observation {
    const { usageSource, units, failed } = observed
    const isServed = this.#status !== null && this.#status >= 200 && this.#status < 300 && !failed
    if (!isServed || usageSource !== 'none' || units.audioMs !== null) return observed
    const audioMs = this.#context.soundMs?.() ?? null
    if (audioMs === null) return observed
    const longest = Math.max(audioMs, this.#spokenMs(observed))
    return { ...observed, units: { ...units, audioMs: longest }, hasEstimatedUnits: true }
  }

  /** How long speaking the text of the answer takes at least: a file may say that it is shorter than it is. */
  #spokenMs({ writtenBytes = 0 }: Observation): number {
    const isText = this.#contentType.startsWith('text/') && !this.#contentType.includes('event-stream')
    const bytes = isText ? this.#bytes : writtenBytes
    return Math.floor((bytes * 1_000) / MOST_BYTES_SPOKEN_A_SECOND)
  }

  /** Estimates of what the answer did not report; `null`: none are made of answers of this endpoint. */
  get estimates(): Estimates | null {
    const { dialect } = this.#context
    if (dialect === null || dialect.isFree === true || reportsNoTokens(dialect)) return null
    // What a fetch shows was generated for another call, whose prompt is not at hand.
    return dialect.responseUse === 'fetched' ? null : this
  }

  async estimateInput(reported: number | null): Promise<number | null> {
    const { call, dialect, requestBody, requestBytes, request } = this.#context
    if (dialect === null) return reported
    const input =
      reported ?? (await estimateInput(call.clientId, dialect, requestBody, requestBytes, request.model))
    const upper = this.#upperUse()
    const model = this.#reader?.peek().model ?? null
    if (upper === null && reported !== null) return input
    if (!this.showsPrompt(model)) return upper === null ? input : Math.max(input ?? 0, upper.inputTokens)
    return reported ?? this.#corrected(input, model, (tokens) => promptKind(requestBody, tokens))
  }

  async estimateOutput(): Promise<number | null> {
    if (this.#unreadable) return null
    const isUnseen = (this.#isCutUncounted || this.#endedUnreported()) && this.#mayHide()
    const { request, requestBody } = this.#context
    const counted = (await this.#sample?.estimateOutput(request.model, forcesCall(requestBody))) ?? 0
    const delivered =
      this.#corrected(counted, this.#reader?.peek().model ?? null, (tokens) =>
        answerKind(requestBody, tokens),
      ) ?? 0
    const unseen = isUnseen ? unseenTokens(this.#tookMs) : 0
    return Math.max(delivered, unseen, this.#upperUse()?.outputTokens ?? 0)
  }

  /** Whether the generated part of the answer has passed. */
  hasGenerated(): boolean {
    return this.#sample !== null && answerHasEnded(this.#sample.kept(), this.#contentType)
  }

  /** Whether only the upstream can tell what the call uses. */
  isCountedUpstreamOnly(): boolean {
    return isCountedUpstreamOnly(this.#context, this.#soFar())
  }

  /** The answer ends here because its client has left, whichever side cut it. */
  cut(): void {
    this.#isCutUncounted = this.isCountedUpstreamOnly()
  }

  /** Whether the request's bytes determine the prompt. */
  showsPrompt(model: string | null): boolean {
    const { requestBody, request } = this.#context
    return showsItsPrompt(requestBody, [request.model, model])
  }

  #soFar(): AnswerSoFar {
    return {
      status: this.#status,
      contentType: this.#contentType,
      reader: this.#reader,
      sample: this.#sample,
    }
  }

  /** What a call is booked with at least whose use was not to be known; `null`: it is not such a call. */
  #upperUse(): UpperUse | null {
    return this.#isCutUncounted ? (this.#context.upperUse?.() ?? null) : null
  }

  #mayHide(): boolean {
    return mayHideOutput(this.#context, this.#soFar())
  }

  /** Whether the answer has ended well without its usage. */
  #endedUnreported(): boolean {
    if (!this.#isWhole || this.#bytes === 0) return false
    return this.#reader?.peek().failed !== true
  }

  #hasReported(): boolean {
    try {
      return this.#reader?.peek().usageSource === 'reported'
    } catch {
      return false
    }
  }

  #corrected(tokens: number | null, answered: string | null, kindOf: (tokens: number) => LearnedKind) {
    const { ratios } = this.#services
    const model = this.#context.request.model ?? answered
    if (tokens === null || ratios === undefined || model === null) return tokens
    return ratios.correct({ clientId: this.#context.call.clientId, model, kind: kindOf(tokens) }, tokens)
  }

  /** No estimate is made of an answer that has reported its usage, but for a few that tell how far estimates are off. */
  #learnFrom(observed: Observation): void {
    const sample = this.#sample
    this.#sample = null
    const { ratios } = this.#services
    const { clientId } = this.#context.call
    const model = this.#context.request.model ?? observed.model
    if (sample === null || ratios === undefined || model === null || !ratios.wants(clientId, model)) {
      sample?.release()
      return
    }
    const hidesOutput = mayHideOutput(this.#context, { ...this.#soFar(), sample })
    measureCall(ratios, { context: this.#context, observed, model, sample, hidesOutput })
      .catch((error: unknown) => this.#services.observer.readingFailed(this.#context.call.provider, error))
      .finally(() => {
        ratios.measured()
        sample.release()
      })
  }

  /** @param bytes content-encoding undone */
  #push(reader: UsageReader, bytes: Uint8Array): void {
    reader.push(bytes)
    this.#sample?.keep(bytes)
    if (reader.revision === this.#revision || this.#ended) return
    this.#revision = reader.revision
    if (this.#delivery.holdsUpTo(this.#bytes)) return
    this.#snapshots ??= new SnapshotSaver(this.#context, this.#services.ledger, this.#delivery)
    this.#snapshots.save(reader, this.#status ?? 200)
  }

  #fail(error: unknown): void {
    this.#unreadable = true
    this.#reader = null
    this.#snapshots?.cancelRunning()
    this.#decoder?.destroy()
    this.#decoder = null
    this.#services.observer.readingFailed(this.#context.call.provider, error)
  }
}
