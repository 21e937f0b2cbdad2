import type { Observation, UsagePart } from '../../call/observation.ts'
import { type BilledUnits, NO_UNITS, type TokenUsage } from '../../call/usage.ts'
import type { Dialect, MessageReader } from '../dialect.ts'
import { madeAtMs } from '../jobs/submitted-at.ts'
import { addUnits, unitsOf } from '../reading/billed-units.ts'
import type { Gatherer } from '../reading/body-reader.ts'
import { addUsage, boundRawUsage, observe, saysTokens, totalDisagrees } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import { createPartsSum, createUsageSum } from '../reading/usage-sum.ts'
import { asBuffer } from '../wires/elements.ts'
import { type Kept, planJson, scanJson } from '../wires/json.ts'
import { findMembers, isTelling } from '../wires/prefilter.ts'
import { responsesText } from './openai-text.ts'
import { type OpenAiQuirks, responsesUsage, weightOf } from './openai-usage.ts'
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
const PLAN = planJson({ ...RESPONSE, type: 'value', response: RESPONSE })
/** `response.create` of a session's client. */
const CREATE = planJson({ model: 'value', response: { model: 'value' } })
const FIND_TELLING = findMembers(['usage', 'error'])
/** The first event of a stream is `response.created` and names the model. */
const MAX_EVENTS_FOR_MODEL = 4

/**
 * The Responses API: creating a response, streamed or not, fetching or cancelling one, compacting.
 *
 * Usage comes with the terminal state: `completed`, `incomplete` and `failed` alike. A response in the background
 * (`queued`, `in_progress`) has none yet and is `pending`: a later fetch tells it, and may tell it again, which is
 * what `responseId` is for. Source: OpenAI's API reference, "Responses", "Streaming events", "Background mode".
 */
export function openAiResponses(quirks: OpenAiQuirks): Dialect {
  return {
    ...jsonDialect({
      name: 'openai.responses',
      format: { plan: PLAN, findTelling: FIND_TELLING, createGatherer: () => new ResponsesGatherer(quirks) },
      textOf: responsesText,
    }),
    createMessageReader: () => createSessionReader(quirks),
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
function createSessionReader(quirks: OpenAiQuirks): MessageReader {
  const sum = createUsageSum()
  let current = new ResponsesGatherer(quirks)
  const parts = createPartsSum()
  let units: BilledUnits = NO_UNITS
  let model: string | null = null
  let serviceTier: string | null = null
  let failed = false
  let revision = 0
  let contextTokens = 0
  return {
    message(bytes) {
      if (!current.wantsEvery && !isTelling(FIND_TELLING, asBuffer(bytes))) return
      const kept = scanJson(bytes, PLAN)
      if (!current.take(kept, false)) return
      revision += 1
      const seen = current.observe()
      model = seen.model ?? model
      serviceTier = seen.serviceTier ?? serviceTier
      failed ||= seen.failed
      if (seen.usageSource === 'none') return
      sum.add({ usage: seen.usage, invalid: seen.usageSource === 'invalid' }, seen.totalMismatch, seen.raw)
      contextTokens = (seen.usage.inputTokens ?? 0) + (seen.usage.outputTokens ?? 0)
      parts.add(seen)
      units = addUnits(units, seen.units)
      current = new ResponsesGatherer(quirks)
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
class ResponsesGatherer implements Gatherer {
  readonly #quirks: OpenAiQuirks
  #events = 0
  #response: JsonObject = {}
  #raw: string | null = null
  #failed = false
  #isWhole = false

  constructor(quirks: OpenAiQuirks) {
    this.#quirks = quirks
  }

  get wantsEvery(): boolean {
    return textIn(this.#response.model) === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  take({ value, raw }: Kept, isError: boolean): boolean {
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

  observe(): Observation {
    const response = this.#response
    const { isRunning } = this
    const seen = {
      model: textIn(response.model),
      failed: this.#failed,
      responseId: textIn(response.id),
      // A whole answer that is not at its end was put off, whatever it says of that; a stream was cut.
      pending: isRunning && (response.background === true || this.#isWhole),
      serviceTier: textIn(response.service_tier),
      ...(response.created_at === undefined ? {} : { madeAtMs: madeAtMs(response.created_at) }),
    }
    const reported = objectIn(response.usage)
    if (reported === null) return observe(seen)
    const own = responsesUsage(reported)
    const drawn = imagePart(response)
    const invalid = own.invalid || drawn?.invalid === true
    const units = unitsOf(this.#quirks.readToolUnits?.(reported) ?? responseTools(response, drawn))
    return observe({
      ...seen,
      usageSource: invalid ? 'invalid' : !saysTokens(own.usage) ? 'none' : isRunning ? 'partial' : 'reported',
      usage: drawn === null ? own.usage : addUsage([own.usage, drawn.usage]),
      units,
      serviceTier: (units.webSearches ?? 0) > 0 ? this.#tierOfSearch(seen.serviceTier) : seen.serviceTier,
      parts: drawn === null || seen.model === null ? null : partsOf(seen.model, own.usage, drawn),
      raw: this.#raw === null ? null : boundRawUsage(this.#raw),
      totalMismatch: totalDisagrees(own.total, own.usage),
      reportedCostPico: this.#quirks.readCost?.(reported) ?? null,
    })
  }

  /** With what the fee of its searches hangs on. */
  #tierOfSearch(serviceTier: string | null): string | null {
    const search = this.#quirks.readSearchTier?.(this.#response) ?? null
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
