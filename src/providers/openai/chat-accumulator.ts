import type { Observation } from '../../call/observation.ts'
import { CompoundUse } from '../others/groq-compound.ts'
import { unitsOf } from '../reading/billed-units.ts'
import { boundRawUsage, observe, saysTokens, totalDisagrees } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { arrayIn, type JsonObject, member, objectIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-accumulator.ts'
import type { ProjectionSpec } from '../wires/json.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { chatUsage, weightOf } from './openai-usage.ts'

/** Fields of a completion. */
export const COMPLETION = {
  type: 'value',
  object: 'value',
  model: 'value',
  service_tier: 'value',
  usage: 'usage',
  choices: [{ finish_reason: 'value', usage: 'usage', error: 'value' }],
  x_groq: { usage: 'usage', error: 'value' },
  error: 'value',
} as const satisfies ProjectionSpec

/** Azure's first chunk names no model; a stream that names none in its first events never does. */
const MAX_EVENTS_FOR_MODEL = 4

/** Combines what the chunks of a completion report, or the whole completion. */
export class ChatAccumulator implements UsageAccumulator {
  readonly #overrides: OpenAiOverrides
  #events = 0
  #model: string | null = null
  #serviceTier: string | null = null
  #usage: JsonObject | null = null
  #raw: string | null = null
  #finished = false
  #usageIsFinal = false
  #failed = false
  readonly #compound: CompoundUse | null

  constructor(overrides: OpenAiOverrides) {
    this.#overrides = overrides
    this.#compound = overrides.isCompound === true ? new CompoundUse(overrides) : null
  }

  get wantsEvery(): boolean {
    return this.#model === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  add(document: JsonObject | null, raw: string | null, isError: boolean): boolean {
    this.#events += 1
    const model = textIn(document?.model)
    const knewModel = this.#model !== null
    const hadFailed = this.#failed
    this.#model = model ?? this.#model
    this.#serviceTier = textIn(document?.service_tier) ?? this.#serviceTier
    this.#failed ||= isError || (document !== null && carriesError(document))
    if (document === null) return this.#failed !== hadFailed
    const choices = arrayIn(document.choices).map(objectIn)
    const ranTools = this.#compound?.add(document) === true
    this.#finished ||= choices.some((choice) => textIn(choice?.finish_reason) !== null)
    const usage = this.#usageIn(document, choices)
    if (usage !== null) {
      this.#usageIsFinal = this.#finished || choices.length === 0
      // One that says nothing, or zeros, takes nothing back of what an earlier one said.
      if (this.#usage === null || weightOf(usage) >= weightOf(this.#usage)) {
        this.#usage = usage
        this.#raw = raw
      }
    }
    const learnedModel = !knewModel && model !== null
    return usage !== null || ranTools || learnedModel || this.#failed !== hadFailed
  }

  #usageIn(document: JsonObject, choices: readonly (JsonObject | null)[]): JsonObject | null {
    const usage = objectIn(document.usage) ?? member(document.x_groq, 'usage')
    if (usage !== null || this.#overrides.usageInChoices !== true) return usage
    return choices.map((choice) => member(choice, 'usage')).find((inside) => inside !== null) ?? null
  }

  snapshot(ended: boolean): Observation {
    const observed = { model: this.#model, serviceTier: this.#serviceTier, failed: this.#failed }
    if (this.#usage === null) return observe(observed)
    const { usage, invalid, total } = chatUsage(this.#usage, this.#overrides, this.#model)
    // One that leaves the output out is not the whole: of what was delivered the rest is estimated.
    const isWhole = usage.outputTokens !== null || invalid
    const isFinal = isWhole && (this.#usageIsFinal || (ended && !this.#failed))
    return observe({
      ...observed,
      usageSource: invalid ? 'invalid' : !saysTokens(usage) ? 'none' : isFinal ? 'reported' : 'partial',
      usage,
      units: unitsOf(this.#compound?.units() ?? this.#overrides.readUnits?.(this.#usage)),
      parts: this.#compound?.parts(usage) ?? null,
      raw: this.#raw === null ? null : boundRawUsage(this.#raw),
      totalMismatch: totalDisagrees(total, usage),
      reportedCostPico: this.#overrides.readCost?.(this.#usage) ?? null,
      serviceTier:
        this.#serviceTier ??
        textIn(this.#usage.service_tier) ??
        this.#overrides.readTier?.(this.#usage) ??
        null,
    })
  }
}
