import type { Observation, UsagePart } from '../../call/observation.ts'
import { type BilledUnits, NO_UNITS, type TokenUsage } from '../../call/usage.ts'
import type { Dialect, MessageReader } from '../dialect.ts'
import { madeAtMs } from '../jobs/submitted-at.ts'
import { addUnits, unitsOf } from '../reading/billed-units.ts'
import type { UsageAccumulator } from '../reading/body-reader.ts'
import { addUsage, boundRawUsage, observe, saysTokens, totalDisagrees } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { createPartsSum, createUsageSum } from '../reading/usage-sum.ts'
import { asBuffer } from '../wires/elements.ts'
import { compileProjection, type Extracted, scanJson } from '../wires/json.ts'
import { findMembers, mayContainUsage } from '../wires/prefilter.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { responsesText } from './openai-text.ts'
import { responsesUsage, weightOf } from './openai-usage.ts'
import { imagePart, RESPONSE_TOOLS, responseTools } from './responses-tools.ts'

const RESPONSE = {
  object: 'value',
  id: 'value',
  model: 'value',
  status: 'value',
  background: 'value',
  service_tier: 'value',
  created_at: 'value',
  error: 'value',
  usage: 'usage',
  ...RESPONSE_TOOLS,
} as const

/** A whole body is the response itself, a stream's events have it under `response`. */
const PROJECTION = compileProjection({ ...RESPONSE, type: 'value', response: RESPONSE })
/** `response.create` of a session's client. */
const CREATE = compileProjection({ model: 'value', response: { model: 'value' } })
const PREFILTER = findMembers(['usage', 'error'])
/** The first event of a stream is `response.created` and names the model. */
const MAX_EVENTS_FOR_MODEL = 4

/**
 * The Responses API: creating a response, streamed or not, fetching or cancelling one, compacting.
 *
 * Usage comes with the terminal state: `completed`, `incomplete` and `failed` alike. A response in the background
 * (`queued`, `in_progress`) has none yet and is `pending`: a later fetch tells it, and may tell it again, which is
 * what `responseId` is for. Source: OpenAI's API reference, "Responses", "Streaming events", "Background mode".
 */
export function openAiResponses(overrides: OpenAiOverrides): Dialect {
  return {
    ...jsonDialect({
      name: 'openai.responses',
      isChat: true,
      hidesReasoningInSessions: true,
      format: {
        projection: PROJECTION,
        prefilter: PREFILTER,
        createAccumulator: () => new ResponsesAccumulator(overrides),
      },
      textOf: responsesText,
    }),
    createMessageReader: () => createSessionReader(overrides),
    modelInMessage(message) {
      const event = objectIn(scanJson(message, CREATE).value)
      return textIn(event?.model) ?? textIn(member(event, 'response')?.model)
    },
  }
}

/**
 * The WebSocket mode: the same events as in a stream, for one response after the other; their usage is added.
 * Source: OpenAI's guide "WebSocket mode".
 */
function createSessionReader(overrides: OpenAiOverrides): MessageReader {
  const sum = createUsageSum()
  let current = new ResponsesAccumulator(overrides)
  const parts = createPartsSum()
  let units: BilledUnits = NO_UNITS
  let model: string | null = null
  let serviceTier: string | null = null
  let failed = false
  let revision = 0
  let contextTokens = 0
  return {
    message(bytes) {
      if (!current.wantsEvery && !mayContainUsage(PREFILTER, asBuffer(bytes))) return
      const extracted = scanJson(bytes, PROJECTION)
      if (!current.add(extracted, false)) return
      revision += 1
      const observed = current.snapshot()
      model = observed.model ?? model
      serviceTier = observed.serviceTier ?? serviceTier
      failed ||= observed.failed
      if (observed.usageSource === 'none') return
      sum.add(
        { usage: observed.usage, invalid: observed.usageSource === 'invalid' },
        observed.totalMismatch,
        observed.raw,
      )
      contextTokens = (observed.usage.inputTokens ?? 0) + (observed.usage.outputTokens ?? 0)
      parts.add(observed)
      units = addUnits(units, observed.units)
      current = new ResponsesAccumulator(overrides)
    },
    peek: () =>
      observe({
        ...sum.observed(!current.isRunning),
        model,
        serviceTier,
        failed,
        units,
        parts: parts.observed(),
      }),
    get revision() {
      return revision
    },
    get underWay() {
      return current.isRunning
    },
    soundTokens: 0,
    get contextTokens() {
      return contextTokens
    },
  }
}

/** Gathers what a response tells, whole or in events. */
class ResponsesAccumulator implements UsageAccumulator {
  readonly #overrides: OpenAiOverrides
  #events = 0
  #response: JsonObject = {}
  #raw: string | null = null
  #failed = false
  #isWhole = false

  constructor(overrides: OpenAiOverrides) {
    this.#overrides = overrides
  }

  get wantsEvery(): boolean {
    return textIn(this.#response.model) === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  add({ value, raw }: Extracted, isError: boolean): boolean {
    this.#events += 1
    const document = objectIn(value)
    const hadFailed = this.#failed
    this.#failed ||=
      isError || (document !== null && (carriesError(document) || document.status === 'failed'))
    if (document === null) return this.#failed !== hadFailed
    const within = objectIn(document.response)
    this.#isWhole = within === null && textIn(document.type) === null
    const response = within ?? document
    if (!describesResponse(response)) return this.#failed !== hadFailed
    this.#failed ||= response.status === 'failed'
    // A later event describes the same response more fully; what it lacks is known from before.
    const before = objectIn(this.#response.usage)
    const usage = objectIn(response.usage)
    this.#response = { ...this.#response, ...withoutNulls(response) }
    if (before !== null && usage !== null && weightOf(usage) < weightOf(before)) {
      this.#response = { ...this.#response, usage: before }
    } else {
      this.#raw = raw ?? this.#raw
    }
    return true
  }

  /** The response has begun and not come to its end. */
  get isRunning(): boolean {
    return this.#response.status === 'queued' || this.#response.status === 'in_progress'
  }

  snapshot(): Observation {
    const response = this.#response
    const { isRunning } = this
    const observed = {
      model: textIn(response.model),
      failed: this.#failed,
      responseId: textIn(response.id),
      // A whole answer that is not at its end was put off, whatever it says of that; a stream was cut.
      pending: isRunning && (response.background === true || this.#isWhole),
      serviceTier: textIn(response.service_tier),
      ...(response.created_at === undefined ? {} : { madeAtMs: madeAtMs(response.created_at) }),
    }
    const reported = objectIn(response.usage)
    if (reported === null) return observe(observed)
    const own = responsesUsage(reported)
    const drawn = imagePart(response)
    const invalid = own.invalid || drawn?.invalid === true
    const units = unitsOf(this.#overrides.readToolUnits?.(reported) ?? responseTools(response, drawn))
    return observe({
      ...observed,
      usageSource: invalid ? 'invalid' : !saysTokens(own.usage) ? 'none' : isRunning ? 'partial' : 'reported',
      usage: drawn === null ? own.usage : addUsage([own.usage, drawn.usage]),
      units,
      serviceTier:
        (units.webSearches ?? 0) > 0 ? this.#tierOfSearch(observed.serviceTier) : observed.serviceTier,
      parts: drawn === null || observed.model === null ? null : partsOf(observed.model, own.usage, drawn),
      raw: this.#raw === null ? null : boundRawUsage(this.#raw),
      totalMismatch: totalDisagrees(own.total, own.usage),
      reportedCostPico: this.#overrides.readCost?.(reported) ?? null,
    })
  }

  /** With what the fee of its searches hangs on. */
  #tierOfSearch(serviceTier: string | null): string | null {
    const search = this.#overrides.readSearchTier?.(this.#response) ?? null
    return search === null || serviceTier === null ? (search ?? serviceTier) : `${serviceTier}+${search}`
  }
}

function partsOf(model: string, usage: TokenUsage, drawn: UsagePart): readonly UsagePart[] {
  return [
    { model, usage },
    { model: drawn.model, usage: drawn.usage },
  ]
}

/** Unlike an event about an item or a piece of text, or an error. */
function describesResponse({ id, model, usage }: JsonObject): boolean {
  return textIn(id) !== null || textIn(model) !== null || objectIn(usage) !== null
}

function withoutNulls(response: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(response).filter(([, value]) => value !== null))
}
