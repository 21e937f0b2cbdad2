import type { Observation } from '../domain/observation.ts'
import { type BilledUnits, NO_UNITS } from '../domain/usage.ts'
import type { Gatherer } from './body-reader.ts'
import { boundRawUsage, observe, saysTokens, totalDisagrees } from './counts.ts'
import { carriesError } from './error-in-body.ts'
import { type JsonObject, objectIn, textIn } from './json-value.ts'
import type { OpenAiUsage } from './openai-usage.ts'
import type { ReadCost } from './reported-cost.ts'
import type { Kept } from './wires/json.ts'

/** How the documents of an endpoint are read whose last `usage` at the root is the whole truth. */
export interface LastUsageRules {
  readonly readUsage: (usage: JsonObject) => OpenAiUsage
  /** Units from a document; what it leaves `null` stays as an earlier document had it. */
  readonly readUnits?: (document: JsonObject) => Partial<BilledUnits>
  readonly readCost?: ReadCost | undefined
}

/** Gathers the last usage that is an object, the model and the units; for endpoints that report usage once. */
export class LastUsageGatherer implements Gatherer {
  readonly wantsEvery = false
  readonly #rules: LastUsageRules
  #usage: JsonObject | null = null
  #raw: string | null = null
  #model: string | null = null
  #units: BilledUnits = NO_UNITS
  #failed = false

  constructor(rules: LastUsageRules) {
    this.#rules = rules
  }

  take({ value, raw }: Kept, isError: boolean): boolean {
    const document = objectIn(value)
    this.#failed ||= isError || (document !== null && carriesError(document))
    if (document === null) return isError
    this.#model = textIn(document.model) ?? this.#model
    const usage = objectIn(document.usage)
    if (usage !== null) {
      this.#usage = usage
      this.#raw = raw
    }
    const units = Object.entries(this.#rules.readUnits?.(document) ?? {}).filter(
      ([, count]) => count !== null,
    )
    this.#units = { ...this.#units, ...Object.fromEntries(units) }
    return true
  }

  observe(): Observation {
    const seen = { model: this.#model, failed: this.#failed, units: this.#units }
    if (this.#usage === null) return observe(seen)
    const { usage, invalid, total } = this.#rules.readUsage(this.#usage)
    return observe({
      ...seen,
      usageSource: invalid ? 'invalid' : saysTokens(usage) ? 'reported' : 'none',
      usage,
      raw: this.#raw === null ? null : boundRawUsage(this.#raw),
      totalMismatch: totalDisagrees(total, usage),
      reportedCostPico: this.#rules.readCost?.(this.#usage) ?? null,
      serviceTier: textIn(this.#usage.service_tier),
    })
  }
}
