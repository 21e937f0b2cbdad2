import { NOTHING_OBSERVED, type Observation } from '../../call/observation.ts'
import type { TokenUsage } from '../../call/usage.ts'
import type { Dialect, MessageReader } from '../../providers/dialect.ts'
import { createFrameReader, type FrameReader } from '../../providers/wires/frames/websocket-frames.ts'
import { type DeliveredSample, openDeliveredSample } from '../estimation/estimate.ts'
import { mayGenerateUnseen, unseenTokens } from '../estimation/unseen-output.ts'
import { ClientModel } from './client-model.ts'

/** This much of what a client sent since the last response is counted as text, four bytes a token. */
const TEXT_BYTES = 16 * 1024
const BYTES_PER_TEXT_TOKEN = 4
/**
 * More is counted as sound: 16 bits at 16 kHz in base64, 32 tokens a second, the dearest of the models that
 * hear.
 */
const BYTES_PER_SOUND_TOKEN = (2 * 16_000 * 4) / 3 / 32

const NO_BYTES = Buffer.alloc(0)

export interface SessionMeterOptions {
  readonly dialect: Dialect
  readonly reader: MessageReader
  readonly provider: string
  /** Whose estimates wait for one another. */
  readonly clientId: string
  /** As the handshake names it; `null`: the client's messages may. */
  readonly requestedModel: string | null
  /** The client has named its model in a message. */
  readonly onModel: (model: string) => void
  /** `sec-websocket-extensions` of the upstream's answer. */
  readonly extensions: string
  /** There is more to see than before. */
  readonly onNews: (observation: Observation) => void
  readonly onFailed: (error: unknown) => void
}

/** Reads one session's frames from its upstream, and keeps what an estimate of a response under way needs. */
export class SessionMeter {
  readonly #options: SessionMeterOptions
  readonly #frames: FrameReader
  readonly #clientModel: ClientModel | null
  #requestedModel: string | null
  #revision = 0
  #failed = false
  /** Of the responses under way; `null`: none is. */
  #sample: DeliveredSample | null = null
  #startedAt = 0
  #clientBytes = 0

  constructor(options: SessionMeterOptions) {
    this.#options = options
    const { dialect, extensions, requestedModel, onModel } = options
    this.#requestedModel = requestedModel
    this.#clientModel =
      requestedModel !== null
        ? null
        : new ClientModel(dialect, extensions, (model) => {
            this.#requestedModel = model
            onModel(model)
          })
    this.#frames = createFrameReader({
      deflate: extensions.includes('permessage-deflate'),
      serverNoContextTakeover: extensions.includes('server_no_context_takeover'),
      onMessage: (bytes) => this.#read(bytes),
    })
  }

  /** The next bytes of the upstream's. */
  push(chunk: Buffer): void {
    this.#frames.push(chunk)
  }

  /** The client's next bytes, which are taken for the prompt of a response to come. Borrowed. */
  clientSent(chunk: Uint8Array): void {
    this.#clientBytes += chunk.length
    this.#clientModel?.push(chunk)
  }

  /** Whether a response has begun whose usage was not reported yet. */
  get underWay(): boolean {
    return !this.#failed && this.#options.reader.underWay
  }

  /** What the upstream has reported: `invalid` where some of its messages could not be read. */
  get observation(): Observation {
    const observed = this.#failed ? NOTHING_OBSERVED : this.#options.reader.peek()
    return this.#failed || this.#frames.blind ? { ...observed, usageSource: 'invalid' } : observed
  }

  /** Whether tokens may be generated that the messages do not show. Those of sound follow from its length. */
  get mayHide(): boolean {
    const { dialect, provider, reader } = this.#options
    if (dialect.hidesReasoningInSessions !== true) return false
    const models = [this.#requestedModel, reader.peek().model]
    return mayGenerateUnseen({ provider, models, requestBody: null, answerHead: NO_BYTES })
  }

  /**
   * The usage with the responses under way in it. They are estimated by what passed of them: text by the
   * tokenizer, sound by its length, the prompt by what came before it. Never rejects.
   */
  async estimate(): Promise<TokenUsage> {
    const { reader } = this.#options
    const { usage, model } = reader.peek()
    const { soundTokens, contextTokens } = reader
    const hidden = this.mayHide ? unseenTokens(performance.now() - this.#startedAt) : 0
    const sound = Math.max(0, this.#clientBytes - TEXT_BYTES) / BYTES_PER_SOUND_TOKEN
    const text = Math.min(this.#clientBytes, TEXT_BYTES) / BYTES_PER_TEXT_TOKEN
    const textTokens = (await this.#sample?.estimateOutput(model ?? this.#requestedModel)) ?? 0
    return {
      ...usage,
      inputTokens: (usage.inputTokens ?? 0) + contextTokens + Math.ceil(text + sound),
      outputTokens: (usage.outputTokens ?? 0) + Math.max(hidden, textTokens + soundTokens),
      audioOutputTokens:
        soundTokens === 0 ? usage.audioOutputTokens : (usage.audioOutputTokens ?? 0) + soundTokens,
    }
  }

  #read(bytes: Uint8Array): void {
    if (this.#failed) return
    const { reader, dialect, onNews, onFailed } = this.#options
    try {
      const soundBefore = reader.soundTokens
      reader.message(bytes)
      if (!reader.underWay) {
        if (this.#sample !== null) this.#clientBytes = 0
        this.#sample = null
      } else {
        if (this.#sample === null) this.#begin(dialect)
        // Sound has no text in it, and would fill the sample.
        if (reader.soundTokens === soundBefore) this.#sample?.push(bytes)
      }
      if (reader.revision === this.#revision) return
      this.#revision = reader.revision
      onNews(reader.peek())
    } catch (error) {
      this.#failed = true
      onFailed(error)
    }
  }

  #begin(dialect: Dialect): void {
    this.#sample = openDeliveredSample(dialect, this.#options.clientId)
    this.#startedAt = performance.now()
  }
}
