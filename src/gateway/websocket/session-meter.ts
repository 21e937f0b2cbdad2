import type { CallRecord, OpenCall, Outcome } from '../../call/call-record.ts'
import type { ObjectEvent } from '../../call/object-event.ts'
import { NOTHING_OBSERVED, type Observation, type UsagePart } from '../../call/observation.ts'
import { NO_USAGE } from '../../call/usage.ts'
import type { Objects } from '../../objects/objects.ts'
import type { Dialect, MessageReader } from '../../providers/dialect.ts'
import { withParts } from '../../providers/reading/session-sum.ts'
import type { SessionMessage } from '../../providers/wires/scan-json.ts'
import { createFrameReader, type FrameReader } from '../../providers/wires/websocket-frames.ts'
import type { Admission } from '../admission/admission.ts'
import type { BodyBudget, UploadProblem } from '../bodies/body-budget.ts'
import { type DeliveredSample, openDeliveredSample } from '../estimation/estimate.ts'
import { mayGenerateUnseen, unseenTokens } from '../estimation/unseen-output.ts'
import type { CallServices } from '../proxy/exchange.ts'
import type { CallResult } from '../recording/call-result.ts'
import { finalizeCall, finalizeEstimated } from '../recording/finalize-call.ts'
import { encodeUsageSnapshot } from '../recording/snapshot-saver.ts'
import { endpointContextOf } from '../routing/route.ts'
import { ClientMessages } from './client-messages.ts'
import { SessionNames } from './session-names.ts'

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
  /** The client has named its model in a message, where the handshake does not, or counts for nothing. */
  readonly onModel: (model: string) => void
  /** What the client says may not go upstream, for this reason: the session has to end. */
  readonly onRefused: (reason: string) => void
  /** Judges the objects that the client names; `null`: its messages name none. */
  readonly names: SessionNames | null
  /** Whether what waits for a message to be judged may still go upstream. */
  readonly isOpen: () => boolean
  /** It may go upstream now. */
  readonly onJudged: () => void
  /** The client closes the session while usage is awaited. True: the upstream is not to know of it yet. */
  readonly onHeldClose: () => boolean
  /** Where the first message waits, if it has to be read before it goes on. */
  readonly bodyBudget: BodyBudget
  /** The upstream asks whether anyone is there. */
  readonly onPing: (payload: Buffer) => void
  /** Other work of the session runs this model from now on; `null`: none any more. */
  readonly onBeside: (model: string | null) => void
  /** The upstream keeps an answer under this id. */
  readonly onMade: (id: string) => void
  /** There is more to see than before. */
  readonly onNews: (observation: Observation) => void
  readonly onFailed: (error: unknown) => void
}

/** Reads the frames of one session, and keeps what an estimate of what is under way needs. */
export class SessionMeter {
  readonly #options: SessionMeterOptions
  readonly #frames: FrameReader
  readonly #client: ClientMessages
  #requestedModel: string | null
  #revision = 0
  #failed = false
  #messages = 0
  #wasBlind = false
  /** Of the responses under way; `null`: none is. */
  #sample: DeliveredSample | null = null
  #startedAt = 0
  #clientBytes = 0
  #besideModel: string | null = null

  constructor(options: SessionMeterOptions) {
    this.#options = options
    const { dialect, requestedModel, reader } = options
    this.#requestedModel = requestedModel
    const events = {
      model: requestedModel,
      onModel: (model: string) => {
        if (this.#requestedModel !== null && dialect.setupNamesModel !== true) return
        this.#requestedModel = model
        options.onModel(model)
      },
      onAsked: () => {
        reader.asked()
        this.#begin()
      },
      openRoom: (end: (problem: UploadProblem) => void) => options.bodyBudget.open(options.clientId, end),
      onClose: () => !this.awaits || !options.onHeldClose(),
      onRefused: options.onRefused,
      onJudged: options.onJudged,
      get isOpen() {
        return options.isOpen()
      },
    }
    this.#client = new ClientMessages(dialect, events, options.names)
    this.#frames = createFrameReader({
      onMessage: (message) => this.#read(message),
      projection: reader.projection,
      onPing: options.onPing,
    })
  }

  /** The next bytes of the upstream's. */
  push(chunk: Buffer): void {
    this.#frames.push(chunk)
    const { blind } = this.#frames
    if (blind === this.#wasBlind) return
    this.#wasBlind = blind
    this.#report()
  }

  /** The client's next bytes, which are taken for the prompt of a response to come. Borrowed. */
  clientSent(chunk: Uint8Array): void {
    this.#clientBytes += chunk.length
    this.#options.reader.clientSent?.(chunk.length)
    this.#client.push(chunk)
  }

  get client(): Pick<
    ClientMessages,
    'passableBytes' | 'isJudging' | 'endsFrame' | 'holdsClose' | 'isUnsaid' | 'releaseClose' | 'releaseRoom'
  > {
    return this.#client
  }

  /** Whether anything has begun, or was asked for, whose usage was not reported yet. */
  get underWay(): boolean {
    return !this.#failed && this.#options.reader.underWay
  }

  /** Whether such usage may still come: the upstream has not closed the session, and its messages can be read. */
  get awaits(): boolean {
    return this.underWay && !this.#frames.finished
  }

  /** How many messages the upstream has sent. */
  get messages(): number {
    return this.#messages
  }

  /** What the upstream has reported: `invalid` where it is not known what else it would have. */
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

  /** What is reported, with what is under way in it, estimated by what passed of it. Never rejects. */
  async estimate(): Promise<Observation> {
    const { reader } = this.#options
    const unfinished = reader.isResponding
      ? [...reader.unfinished, await this.#estimateResponse()]
      : reader.unfinished
    return withParts(reader.peek(), unfinished)
  }

  /** Text by the tokenizer, sound by its length, the prompt by what came before. */
  async #estimateResponse(): Promise<UsagePart> {
    const { model } = this.#options.reader.peek()
    const { soundTokens, contextTokens } = this.#options.reader
    const hidden = this.mayHide ? unseenTokens(performance.now() - this.#startedAt) : 0
    const sound = Math.max(0, this.#clientBytes - TEXT_BYTES) / BYTES_PER_SOUND_TOKEN
    const text = Math.min(this.#clientBytes, TEXT_BYTES) / BYTES_PER_TEXT_TOKEN
    const textTokens = (await this.#sample?.estimateOutput(model ?? this.#requestedModel)) ?? 0
    const usage = {
      ...NO_USAGE,
      inputTokens: contextTokens + Math.ceil(text + sound),
      outputTokens: Math.max(hidden, textTokens + soundTokens),
      audioOutputTokens: soundTokens === 0 ? null : soundTokens,
    }
    return { model, usage }
  }

  #read(message: SessionMessage): void {
    this.#messages += 1
    if (this.#failed) return
    const { reader, onFailed, onMade } = this.#options
    try {
      const soundBefore = reader.soundTokens
      const madeBefore = reader.madeId
      reader.message(message)
      this.#runsBeside(reader.besideModel)
      if (reader.madeId !== undefined && reader.madeId !== madeBefore) onMade(reader.madeId)
      if (!reader.underWay) {
        if (this.#sample !== null) this.#clientBytes = 0
        this.#sample = null
      } else {
        this.#begin()
        // Sound has no text in it, and would fill the sample.
        const isText = message instanceof Uint8Array && reader.soundTokens === soundBefore
        if (isText) this.#sample?.push(message)
      }
      this.#report()
    } catch (error) {
      this.#failed = true
      onFailed(error)
    }
  }

  #runsBeside(model: string | null | undefined): void {
    if (model === undefined || model === this.#besideModel) return
    this.#besideModel = model
    this.#options.onBeside(model)
  }

  /** There may be more to see than before. */
  #report(): void {
    const { reader, onNews } = this.#options
    if (reader.revision === this.#revision && !this.#wasBlind) return
    this.#revision = reader.revision
    onNews(this.observation)
  }

  /** From here on what passes is of something under way. */
  #begin(): void {
    if (this.#sample !== null) return
    this.#sample = openDeliveredSample(this.#options.dialect, this.#options.clientId)
    this.#startedAt = performance.now()
  }
}

/** A session, as far as its usage is concerned. */
export interface MeteredSession {
  /** With the model that the client has named by now. */
  readonly call: OpenCall
  nameModel(model: string): void
  /** Whether what the client sent may go upstream, now or later. */
  readonly takesClient: boolean
  /** It has been judged, and may go upstream now. */
  judged(): void
  /** What the client says may not go upstream, for this reason. */
  refused(reason: string): void
  /** The client closes it while usage is awaited. @returns whether the upstream is not to know of it yet */
  closing(): boolean
  /** The upstream asks whether anyone is there. */
  pinged(payload: Buffer): void
  /** Other work of the session runs this model from now on; `null`: none any more. */
  runsBeside(model: string | null): void
  /** The upstream has reported more than before. */
  usageReported(observation: Observation): void
}

/**
 * Usage is in the messages that the upstream sends. `null`: its path has no reader, so only the session is
 * counted.
 */
export function openMeter(
  session: MeteredSession,
  { route, caller }: Admission,
  { ledger, observer }: CallServices,
  objects: Objects,
  bodyBudget: BodyBudget,
): SessionMeter | null {
  const { dialect } = route
  const { clientId, provider, requestedModel } = session.call
  const reader = dialect?.createMessageReader?.({
    method: 'GET',
    path: route.target.canonicalPath,
    model: requestedModel,
    stream: null,
  })
  if (dialect === null || reader === undefined) return null
  const isNaming = dialect.messagesNameObjects === true && route.upstream.objects === 'owned'
  const observedBy = (observed: Observation): Observation => {
    // The journal knows the call from before its client named the model.
    const isNamedLater = requestedModel !== session.call.requestedModel
    const model = observed.model ?? (isNamedLater ? session.call.requestedModel : null)
    return model === observed.model ? observed : { ...observed, model }
  }
  let made: readonly ObjectEvent[] | undefined
  const save = (observation: Observation) =>
    ledger.saveSnapshot(session.call, () =>
      encodeUsageSnapshot({
        observation,
        status: 101,
        clientName: caller.clientName,
        responseUse: 'created',
        objects: made,
      }),
    )
  const meter = new SessionMeter({
    dialect,
    reader,
    provider,
    clientId,
    requestedModel,
    bodyBudget,
    names: isNaming
      ? new SessionNames(route.target.canonicalPath, (ids) =>
          objects.judgeIds(route.upstream, caller.clientId, ids),
        )
      : null,
    onModel: (model) => session.nameModel(model),
    onRefused: (reason) => session.refused(reason),
    isOpen: () => session.takesClient,
    onJudged: () => session.judged(),
    onHeldClose: () => session.closing(),
    onPing: (payload) => session.pinged(payload),
    onBeside: (model) => session.runsBeside(model),
    onMade: (id) => {
      const { canonicalPath } = route.target
      const { callId } = session.call
      made = objects.made({ callId, upstream: route.upstream, canonicalPath, owner: caller }, id)
      save(observedBy(meter.observation))
    },
    onNews: (observed) => {
      const observation = observedBy(observed)
      session.usageReported(observation)
      save(observation)
    },
    onFailed: (error) => observer.readingFailed(provider, error),
  })
  return meter
}

/** How a session ended. */
interface EndedSession {
  readonly call: OpenCall
  /** The upstream's status; `null`: it never answered the handshake. */
  readonly status: number | null
  readonly outcome: Outcome
  /** `null`: its messages were not read. */
  readonly meter: SessionMeter | null
  /** Nothing that its client said went upstream. */
  readonly isUnsaid: boolean
}

/** Writes the record of a session to the ledger, then calls back. What is under way is estimated. */
export function recordSession(
  { call, status, outcome, meter, isUnsaid }: EndedSession,
  { caller, route, limits, span }: Admission,
  services: CallServices,
  onWritten: () => void,
): void {
  meter?.client.releaseRoom()
  const { ledger, observer, pricing } = services
  const result: CallResult = {
    call,
    client: caller,
    endpoint: endpointContextOf(route.dialect),
    status,
    outcome,
    observation: meter?.observation ?? null,
    // A session lasts as long as its client wants: that says nothing of latency.
    latencyUs: null,
    ttftUs: null,
    estimates: null,
    isUnsaid,
  }
  const write = (record: CallRecord) =>
    ledger.close(
      record,
      (_error, sequence, kept) => {
        limits?.recorded(record, sequence, kept)
        observer.callEnded(record)
        span?.ended(record)
        onWritten()
      },
      limits?.reservedPico,
    )
  if (meter === null || !meter.underWay || result.observation?.usageSource === 'invalid') {
    write(finalizeCall(result, pricing))
    return
  }
  void meter
    .estimate()
    .then((observation) => write(finalizeEstimated({ ...result, observation }, observation.usage, pricing)))
}
