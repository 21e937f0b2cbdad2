import type { UsagePart } from '../../call/observation.ts'
import type { BilledUnit, BilledUnits, TokenUsage } from '../../call/usage.ts'
import { sumUnits } from '../reading/billed-units.ts'
import { sumUsage } from '../reading/counts.ts'
import { arrayIn, type JsonObject, member, objectsIn, textIn } from '../reading/json-value.ts'
import type { ProjectionSpec } from '../wires/json.ts'
import type { OpenAiOverrides } from './openai-overrides.ts'
import { chatUsage } from './openai-usage.ts'

/** Usage by model, at the root of an answer or in `x_groq` of a stream's last chunk. */
export const COMPOUND = {
  usage_breakdown: { models: [{ model: 'value', usage: 'value' }] },
} as const satisfies ProjectionSpec

const TOOLS = { executed_tools: [{ type: 'value', index: 'value' }] } as const satisfies ProjectionSpec

/** Tools that ran on the server, in a choice. */
export const EXECUTED = { message: TOOLS, delta: TOOLS } as const satisfies ProjectionSpec

/**
 * Kinds of tools by what bills them; `null`: nothing but tokens. Code is billed by the hour, which no answer reports.
 */
const UNIT_OF: ReadonlyMap<string, BilledUnit | null> = new Map<string, BilledUnit | null>([
  ['search', 'webSearches'],
  ['web_search', 'webSearches'],
  ['browser.search', 'webSearches'],
  ['visit', 'webFetches'],
  ['visit_website', 'webFetches'],
  ['browser.open', 'webFetches'],
  ['browser.find', null],
  ['python', 'codeRuns'],
  ['code_interpreter', 'codeRuns'],
  ['function', null],
  ['mcp', null],
])

/** More tools than these no answer runs. What stands behind is one call of a tool without a price. */
const MAX_TOOLS = 1000

/**
 * The use of one of Groq's systems, or of a model with built-in tools, beside its own tokens: the models it asked, and
 * the tools that ran for it, which a stream reports in several chunks by their index.
 * https://console.groq.com/docs/compound, https://console.groq.com/docs/tool-use/built-in-tools
 */
export class CompoundUse {
  readonly #overrides: OpenAiOverrides
  readonly #tools = new Map<string, string>()
  #isCut = false
  #models: readonly JsonObject[] = []

  constructor(overrides: OpenAiOverrides) {
    this.#overrides = overrides
  }

  /** Tells whether it reported a tool. */
  add(document: JsonObject): boolean {
    const reported = member(document, 'usage_breakdown') ?? member(document.x_groq, 'usage_breakdown')
    if (reported !== null) this.#models = objectsIn(reported.models)
    const before = this.#tools.size
    arrayIn(document.choices).forEach((choice, place) => {
      const executed = member(choice, 'message') ?? member(choice, 'delta')
      objectsIn(executed?.executed_tools).forEach((tool, order) => {
        const index = typeof tool.index === 'number' ? tool.index : order
        const type = textIn(tool.type)
        if (type === null) return
        const key = `${place} ${index}`
        if (this.#tools.size < MAX_TOOLS || this.#tools.has(key)) this.#tools.set(key, type)
        else this.#isCut = true
      })
    })
    return this.#tools.size > before
  }

  /** `null`: no tool ran. */
  units(): Partial<BilledUnits> | null {
    const units: Partial<Record<BilledUnit, number | null>> = this.#isCut ? { otherToolCalls: 1 } : {}
    for (const type of this.#tools.values()) {
      const unit = UNIT_OF.get(type)
      if (unit === null) continue
      const counted = unit ?? 'otherToolCalls'
      units[counted] = sumUnits(units[counted] ?? null, 1)
    }
    return this.#tools.size === 0 ? null : units
  }

  /** Usage by model; `null`: none was reported, or not all of `whole`. */
  parts(whole: TokenUsage): readonly UsagePart[] | null {
    const byModel = new Map<string, UsagePart>()
    for (const { model, usage } of this.#models) {
      const name = textIn(model)
      const reported = member({ usage }, 'usage')
      if (name === null || reported === null) return null
      const counted = chatUsage(reported, this.#overrides, name)
      if (counted.invalid) return null
      const earlier = byModel.get(name)
      const all = earlier === undefined ? counted.usage : sumUsage([earlier.usage, counted.usage])
      byModel.set(name, { model: name, usage: all })
    }
    const parts = [...byModel.values()]
    const sum = sumUsage(parts.map(({ usage }) => usage))
    const isWhole = sum.inputTokens === whole.inputTokens && sum.outputTokens === whole.outputTokens
    return parts.length > 0 && isWhole ? parts : null
  }
}
