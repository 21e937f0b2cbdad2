import type { Observation, UsagePart } from '../../call/observation.ts'
import type { TokenUsage } from '../../call/usage.ts'
import { madeAtMs } from '../jobs/submitted-at.ts'
import { unitsOf } from '../reading/billed-units.ts'
import type { Fields } from '../reading/body-format.ts'
import { boundRawUsage, observe, saysTokens, sumUsage, totalDisagrees } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { type JsonObject, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-accumulator.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
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
export const RESPONSE_FIELDS: Fields = { ...RESPONSE, type: 'value', response: RESPONSE }

/** The first event of a stream is `response.created` and names the model. */
const MAX_EVENTS_FOR_MODEL = 4

/** Combines what a response reports, whole or in events. */
export class ResponsesAccumulator implements UsageAccumulator {
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

  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean {
    this.#events += 1
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
      usage: drawn === null ? own.usage : sumUsage([own.usage, drawn.usage]),
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
