import { anthropicUsage } from '../anthropic/anthropic-usage.ts'
import type { Dialect } from '../dialect.ts'
import { bodyFormat, type Fields } from '../reading/body-format.ts'
import { createBodyReader } from '../reading/body-reader.ts'
import { type JsonObject, member, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-accumulator.ts'
import { createJobSums, observeJobs } from './job-sums.ts'

const BATCH = /\/batches\/([^/]+)\/results$/

const FIELDS: Fields = {
  result: { type: 'value', message: { model: 'value', usage: 'usage' } },
}

const FORMAT = bodyFormat({ fields: FIELDS, prefilter: ['usage'], isLines: true })

/**
 * The results of a message batch: one line per request, each with its message and that message's usage, billed at
 * the price of batches. A batch counts when its results have been read to their end, and once however often they
 * are; results cut before report nothing, as the client has to read them again.
 * Source: platform.claude.com/docs, "Batch processing" and "Retrieve message batch results".
 */
export const anthropicBatchResults: Dialect = {
  name: 'anthropic.batch-results',
  readsRequest: false,
  takesIncludeUsage: false,
  countsTokens: false,
  tokenizerFamily: 'claude',
  modelInPath: () => null,
  createReader: ({ path }, head) =>
    createBodyReader(head, {
      ...FORMAT,
      createAccumulator: () => new BatchAccumulator(BATCH.exec(path)?.[1] ?? null),
    }),
  textOf: () => '',
}

class BatchAccumulator implements UsageAccumulator {
  readonly wantsEvery = false
  readonly #batchId: string | null
  readonly #sums = createJobSums()

  constructor(batchId: string | null) {
    this.#batchId = batchId
  }

  add(document: JsonObject | null, raw: string | null): boolean {
    const message = member(member(document, 'result'), 'message')
    const usage = member(message, 'usage')
    if (usage === null) return false
    const model = textIn(message?.model) ?? '(unknown)'
    const { parts, units, ...counted } = anthropicUsage(usage, model)
    const [first, ...others] = parts ?? [{ model, usage: counted.usage }]
    // What was billed beside tokens is the message's, and counts once.
    if (first !== undefined) {
      this.#sums.add(first.model, { usage: first.usage, invalid: counted.invalid }, units, raw)
    }
    for (const part of others) this.#sums.add(part.model, { usage: part.usage, invalid: false }, null, null)
    return true
  }

  snapshot(ended: boolean) {
    const jobs = this.#sums.jobs({ responseId: this.#batchId, serviceTier: 'batch' })
    const [first] = jobs
    if (!ended || first === undefined) return observeJobs()
    return jobs.length === 1 ? first : observeJobs(jobs)
  }
}
