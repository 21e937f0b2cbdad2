import type { UsagePart } from '../domain/observation.ts'
import { anthropicUsage } from './anthropic-usage.ts'
import { createBodyReader, type Gatherer } from './body-reader.ts'
import { observe } from './counts.ts'
import type { Dialect } from './dialect.ts'
import { member, textIn } from './json-value.ts'
import { createUsageSum, type UsageSum } from './usage-sum.ts'
import { type Kept, planJson } from './wires/json.ts'
import { findMembers } from './wires/telling.ts'

const BATCH = /\/batches\/([^/]+)\/results$/
/** Models told apart in one batch; further ones are counted with the last. */
const MAX_MODELS = 32

const PLAN = planJson({ result: { type: 'value', message: { model: 'value', usage: 'usage' } } })

/**
 * The results of a message batch: one line per request, each with its message and that message's usage, billed at
 * the price of batches. A batch counts when its results have been read to their end, and once however often they
 * are; results cut before tell nothing, as whoever wants them reads them again.
 * Source: platform.claude.com/docs, "Batch processing" and "Retrieve message batch results".
 */
export const anthropicBatchResults: Dialect = {
  name: 'anthropic.batch-results',
  readsRequest: false,
  takesIncludeUsage: false,
  errorShape: 'anthropic',
  modelInPath: () => null,
  createReader: ({ path }, head) =>
    createBodyReader(head, {
      plan: PLAN,
      findTelling: findMembers(['usage']),
      isLines: true,
      createGatherer: () => new BatchGatherer(BATCH.exec(path)?.[1] ?? null),
    }),
  textOf: () => '',
}

class BatchGatherer implements Gatherer {
  readonly wantsEvery = false
  readonly #batchId: string | null
  readonly #sum = createUsageSum()
  readonly #models = new Map<string, UsageSum>()
  #webSearches: number | null = null

  constructor(batchId: string | null) {
    this.#batchId = batchId
  }

  take({ value, raw }: Kept): boolean {
    const message = member(member(value, 'result'), 'message')
    const usage = member(message, 'usage')
    if (usage === null) return false
    const model = textIn(message?.model) ?? '(unknown)'
    const { parts, units, ...counted } = anthropicUsage(usage, model)
    this.#sum.add(counted, false, raw)
    for (const part of parts ?? [{ model, usage: counted.usage }]) this.#addPart(part, counted.invalid)
    if (units.webSearches !== null) this.#webSearches = (this.#webSearches ?? 0) + units.webSearches
    return true
  }

  #addPart({ model, usage }: UsagePart, invalid: boolean): void {
    const known = this.#models.get(model)
    const last = this.#models.size < MAX_MODELS ? undefined : [...this.#models.values()].at(-1)
    const sum = known ?? last ?? createUsageSum()
    if (known === undefined && last === undefined) this.#models.set(model, sum)
    sum.add({ usage, invalid }, false, null)
  }

  observe(ended: boolean) {
    const sum = this.#sum.observed(true)
    if (!ended || sum.usageSource === 'none') return observe()
    const parts = [...this.#models].map(([model, part]) => ({ model, usage: part.observed(true).usage }))
    const [first] = parts
    return observe({
      ...sum,
      model: first?.model ?? null,
      parts: parts.length > 1 ? parts : null,
      responseId: this.#batchId,
      serviceTier: 'batch',
      units: { ...observe().units, webSearches: this.#webSearches },
    })
  }
}
