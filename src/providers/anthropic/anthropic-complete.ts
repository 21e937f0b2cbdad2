import type { Observation } from '../../call/observation.ts'
import type { Dialect } from '../dialect.ts'
import { observe } from '../reading/counts.ts'
import { carriesError } from '../reading/error-in-body.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-accumulator.ts'
import { anthropicText } from './anthropic-text.ts'

const MAX_EVENTS_FOR_MODEL = 4

/**
 * Anthropic's legacy text completions report no usage at all, only the model.
 * Source: platform.claude.com/docs, "Text completions (legacy)".
 */
export const anthropicComplete: Dialect = jsonDialect({
  name: 'anthropic.complete',
  fields: { type: 'value', model: 'value', error: 'value' },
  prefilter: ['error'],
  createAccumulator: () => new CompleteAccumulator(),
  tokenizerFamily: 'claude',
  textOf: anthropicText,
})

class CompleteAccumulator implements UsageAccumulator {
  #events = 0
  #model: string | null = null
  #failed = false

  get wantsEvery(): boolean {
    return this.#model === null && this.#events < MAX_EVENTS_FOR_MODEL
  }

  add(document: JsonObject | null, _raw: string | null, isError: boolean): boolean {
    this.#events += 1
    this.#failed ||= isError || (document !== null && carriesError(document))
    this.#model = textIn(document?.model) ?? this.#model
    return true
  }

  snapshot(): Observation {
    return observe({ model: this.#model, failed: this.#failed })
  }
}
