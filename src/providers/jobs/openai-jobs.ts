import type { JobObservation } from '../../call/observation.ts'
import { NO_USAGE } from '../../call/usage.ts'
import type { Dialect } from '../dialect.ts'
import { USAGE_IF_ASKED } from '../openai/openai-overrides.ts'
import { chatUsage, responsesUsage } from '../openai/openai-usage.ts'
import { unitsIn } from '../reading/billed-units.ts'
import { totalDisagrees } from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, member, objectIn, objectsIn, textIn } from '../reading/json-value.ts'
import type { ReadCost } from '../reading/reported-cost.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { compileProjection, JsonScanner } from '../wires/json.ts'
import {
  createJobSums,
  createListAccumulator,
  type JobFormat,
  jobDialect,
  jobListDialect,
  madeAtMs,
  observeJobs,
} from './job-list.ts'

const ENDED = new Set(['completed', 'expired', 'cancelled', 'failed'])

/**
 * A batch, fetched by its id or in a list: once it has ended, `usage` is the sum over all its requests; before, it is not
 * final and does not count. Every fetch reports it again, which is what `responseId` is for.
 * Source: OpenAI's API reference, "The batch object".
 */
const batchFormat = (readCost: ReadCost | undefined): JobFormat => ({
  name: 'openai.batch',
  wanted: {
    id: 'value',
    model: 'value',
    status: 'value',
    created_at: 'value',
    usage: 'usage',
    request_counts: { total: 'value', completed: 'value' },
  },
  read(batch, text) {
    const hasEnded = ENDED.has(textIn(batch.status) ?? '')
    const usage = hasEnded ? member(batch, 'usage') : null
    const counted = usage === null ? null : responsesUsage(usage)
    return {
      usage: counted && { ...counted, totalMismatch: totalDisagrees(counted.total, counted.usage) },
      // In a list the text of one is not kept apart.
      raw: usage === null ? null : (text ?? JSON.stringify(usage)),
      isFinal: true,
      isSum: counted !== null && !hasOneRequest(member(batch, 'request_counts')),
      model: textIn(batch.model),
      responseId: textIn(batch.id),
      // Or it is reported elsewhere: in the file that it left.
      pending: counted === null && textIn(batch.status) !== null,
      serviceTier: 'batch',
      madeAtMs: madeAtMs(batch.created_at),
      reportedCostPico: usage === null ? null : (readCost?.(usage) ?? null),
    }
  },
})

/** Those that failed used nothing. */
function hasOneRequest(counts: JsonObject | null): boolean {
  return counts?.completed === 1 || counts?.total === 1
}

export function openAiBatch(readCost?: ReadCost): Dialect {
  return { ...jobDialect(batchFormat(readCost)), countsTokens: false }
}

export function openAiBatches(readCost?: ReadCost): Dialect {
  return jobListDialect(batchFormat(readCost))
}

/**
 * A fine-tuning job, fetched by its id or in a list: `trained_tokens` is there once it has ended, and is what training
 * is billed by. `model` is the one that was trained. Source: OpenAI's API reference, "The fine-tuning job object";
 * Mistral's is written alike.
 */
const JOB: JobFormat = {
  name: 'openai.fine-tuning-job',
  wanted: { id: 'value', model: 'value', status: 'value', created_at: 'value', trained_tokens: 'value' },
  read(job) {
    const hasEnded = /^(?:succeeded|success|failed|cancelled)$/i.test(textIn(job.status) ?? '')
    const trained = hasEnded ? unitsIn(job.trained_tokens) : null
    return {
      usage: trained === null ? null : { usage: NO_USAGE, invalid: false },
      units: trained === null ? null : { trainedTokens: trained },
      isFinal: true,
      model: textIn(job.model),
      responseId: textIn(job.id),
      pending: trained === null && textIn(job.status) !== null,
      madeAtMs: madeAtMs(job.created_at),
    }
  },
}

export const fineTuningJob = jobDialect(JOB)
export const fineTuningJobs = jobListDialect(JOB)

const PAGE = compileProjection({
  has_more: 'value',
  last_id: 'value',
  data: [
    {
      sample: {
        model: 'value',
        usage: {
          prompt_tokens: 'value',
          completion_tokens: 'value',
          total_tokens: 'value',
          cached_tokens: 'value',
        },
      },
    },
  ],
})

/** One page of them, as it comes. */
interface ItemPage {
  push(chunk: Buffer): void
  /** The id behind which the next page begins; `null`: this was the last. */
  end(): string | null
}

/**
 * The items that a run of an eval put out, each with the use of its sample: all of them tell what a run used that does not
 * sum it up. What graders used is not among it. Source: OpenAI's API reference, "The eval run output item object".
 */
export function createEvalItems(): {
  page(): ItemPage
  /** By model; none: no item has any. */
  jobs(runId: string): readonly JobObservation[]
} {
  const sums = createJobSums()
  return {
    page() {
      const scanner = new JsonScanner(PAGE)
      return {
        push: (chunk) => scanner.push(chunk),
        end() {
          scanner.end()
          const page = objectIn(scanner.extracted.value)
          for (const item of objectsIn(page?.data)) {
            const sample = member(item, 'sample')
            const usage = member(sample, 'usage')
            if (usage === null) continue
            const { cached_tokens, ...counts } = usage
            const written = { ...counts, prompt_tokens_details: { cached_tokens: cached_tokens ?? 0 } }
            sums.add(
              textIn(sample?.model),
              chatUsage(written, USAGE_IF_ASKED, null),
              null,
              JSON.stringify(written),
            )
          }
          return page?.has_more === true ? textIn(page.last_id) : null
        },
      }
    },
    jobs: (runId) => sums.jobs({ responseId: runId, serviceTier: null }),
  }
}

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
const EVAL_ENDED = /^(?:completed|failed|cancell?ed)$/

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
  if (!EVAL_ENDED.test(textIn(run.status) ?? '')) return []
  // Each is a sum.
  const sums = createJobSums(true)
  for (const { model_name, cached_tokens, ...usage } of objectsIn(run.per_model_usage)) {
    const written = { ...usage, prompt_tokens_details: { cached_tokens: cached_tokens ?? 0 } }
    sums.add(textIn(model_name), chatUsage(written, USAGE_IF_ASKED, null), null, JSON.stringify(written))
  }
  return sums.jobs({
    responseId: textIn(run.id),
    serviceTier: null,
    madeAtMs: madeAtMs(run.created_at),
  })
}
