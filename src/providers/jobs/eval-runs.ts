import type { JobObservation } from '../../call/observation.ts'
import type { Dialect } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatUsage } from '../openai/openai-usage.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, objectsIn, textIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-accumulator.ts'
import { createListAccumulator } from './job-list.ts'
import { createJobSums, observeJobs } from './job-sums.ts'
import { madeAtMs } from './submitted-at.ts'

const RUN = {
  id: 'value',
  status: 'value',
  created_at: 'value',
  per_model_usage: [
    {
      model_name: 'value',
      prompt_tokens: 'value',
      completion_tokens: 'value',
      total_tokens: 'value',
      cached_tokens: 'value',
    },
  ],
} as const
const PREFILTER = ['per_model_usage']
const ENDED = /^(?:completed|failed|cancell?ed)$/

/**
 * A run of an eval, fetched by its id: what it used is reported by model, the graders' too.
 * Source: OpenAI's API reference, "The eval run object".
 */
export const evalRun: Dialect = jsonDialect({
  name: 'openai.eval-run',
  fields: RUN,
  prefilter: PREFILTER,
  createAccumulator: createRunAccumulator,
})

/** A page of them. */
export const evalRuns: Dialect = jsonDialect({
  name: 'openai.eval-run-list',
  fields: { data: [RUN] },
  prefilter: PREFILTER,
  createAccumulator: () => createListAccumulator(usedBy),
})

function createRunAccumulator(): UsageAccumulator {
  let run: JsonObject = {}
  return {
    wantsEvery: false,
    add(document) {
      run = document ?? {}
      return true
    },
    snapshot: (ended) => observeJobs(ended ? usedBy(run) : []),
  }
}

function usedBy(run: JsonObject): readonly JobObservation[] {
  if (!ENDED.test(textIn(run.status) ?? '')) return []
  const sums = createJobSums()
  for (const { model_name, cached_tokens, ...usage } of objectsIn(run.per_model_usage)) {
    const written = { ...usage, prompt_tokens_details: { cached_tokens: cached_tokens ?? 0 } }
    sums.add(textIn(model_name), chatUsage(written, USAGE_IF_ASKED, null), null, JSON.stringify(written))
  }
  // Each is a sum.
  const jobs = sums.jobs({
    responseId: textIn(run.id),
    serviceTier: null,
    madeAtMs: madeAtMs(run.created_at),
  })
  return jobs.map((job) => ({ ...job, largestPrompt: null }))
}
