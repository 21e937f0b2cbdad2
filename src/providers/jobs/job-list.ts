import type { JobObservation, Observation, PromptLengths } from '../../call/observation.ts'
import { BILLED_UNITS, type BilledUnits, NO_UNITS } from '../../call/usage.ts'
import type { Dialect } from '../dialect.ts'
import {
  addCounts,
  type Count,
  type CountedUsage,
  createUsageSum,
  observe,
  type UsageSum,
} from '../reading/counts.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, objectsIn } from '../reading/json-value.ts'
import { promptSizeOf } from '../reading/prompt-sizes.ts'
import { createUpdateAccumulator, type UsageAccumulator, type UsageUpdate } from '../reading/usage-update.ts'
import type { ProjectionSpec } from '../wires/plans/json-projection.ts'

/** How one job is written, by itself and in a list. */
export interface JobFormat {
  readonly name: string
  /** The members of a job to keep. */
  readonly wanted: { readonly [key: string]: ProjectionSpec }
  /** The use that a job reports; `text`: its usage as written, where that is known. */
  readonly read: (job: JsonObject, text: string | null) => UsageUpdate | null
}

/** Fetching one job. */
export function jobDialect({ name, wanted, read }: JobFormat): Dialect {
  return jsonDialect({
    name,
    fields: wanted,
    prefilter: ['usage'],
    read: read,
  })
}

/** Listing jobs, a page of them in `data`: each that has ended reports what it used. */
export function jobListDialect({ name, wanted, read }: JobFormat): Dialect {
  return jsonDialect({
    name: `${name}-list`,
    fields: { data: [wanted] },
    prefilter: ['usage'],
    createAccumulator: () => createListAccumulator((job) => [observationOf(read, job)]),
  })
}

/**
 * An answer about jobs that reports nothing of what they used, or reports it in `jobs`. Its own text is none of a model's, so
 * there is nothing to estimate: what is to be counted is reported later, or elsewhere.
 */
export function observeJobs(jobs: readonly JobObservation[] = []): Observation {
  return observe(jobs.length === 0 ? { pending: true } : { pending: true, jobs })
}

/** Adds up what the requests of one job used, by model, and those with long prompts apart. */
export interface JobSums {
  add(
    model: string | null,
    counted: CountedUsage,
    units: Partial<BilledUnits> | null,
    raw: string | null,
  ): void
  /** One for each model. */
  jobs(
    job: Pick<JobObservation, 'responseId' | 'serviceTier' | 'madeAtMs' | 'isFile'>,
  ): readonly JobObservation[]
}

/** Models distinguished in one job; further ones are counted with the last. */
const MAX_MODELS = 32

interface ModelSum {
  readonly usage: UsageSum
  units: BilledUnits
  requests: number
  /** By how long their prompts were, as their prices may differ. */
  readonly bySize: Map<number, SizeSum>
}

interface SizeSum {
  readonly usage: UsageSum
  prompts: PromptLengths
}

/** @param areSums What is added are sums themselves, of whose prompts nothing is known. */
export function createJobSums(areSums = false): JobSums {
  const models = new Map<string | null, ModelSum>()
  return {
    add(model, counted, units, raw) {
      const known = models.get(model)
      const last = models.size < MAX_MODELS ? undefined : [...models.values()].at(-1)
      const sum = known ??
        last ?? { usage: createUsageSum(), units: NO_UNITS, requests: 0, bySize: new Map() }
      if (known === undefined && last === undefined) models.set(model, sum)
      sum.usage.add(counted, false, raw)
      sum.requests += 1
      if (!areSums) addBySize(sum.bySize, counted)
      if (units !== null) sum.units = addUnits(sum.units, units)
    },
    jobs: (job) =>
      [...models].map(([model, { usage, units, requests, bySize }]) => {
        const sizes = [...bySize.values()]
        const longest = Math.max(0, ...sizes.map(({ prompts }) => prompts.longest))
        const parts = sizes.map((size) => ({
          model,
          usage: size.usage.observed(true).usage,
          prompts: size.prompts,
        }))
        return {
          ...observe({ ...usage.observed(true), units, model, ...(sizes.length > 1 ? { parts } : {}) }),
          ...(areSums ? { largestPrompt: null } : requests > 1 ? { largestPrompt: longest } : {}),
          ...job,
        }
      }),
  }
}

function addBySize(bySize: Map<number, SizeSum>, counted: CountedUsage): void {
  const prompt = counted.usage.inputTokens ?? 0
  const size = promptSizeOf(prompt)
  const sum = bySize.get(size) ?? {
    usage: createUsageSum(),
    prompts: { shortest: prompt, longest: prompt },
  }
  bySize.set(size, sum)
  sum.usage.add(counted, false, null)
  const { shortest, longest } = sum.prompts
  sum.prompts = { shortest: Math.min(shortest, prompt), longest: Math.max(longest, prompt) }
}

function addUnits(sum: BilledUnits, units: Partial<BilledUnits>): BilledUnits {
  const added: { [name: string]: Count } = {}
  for (const name of BILLED_UNITS) {
    const count = addCounts(sum[name], units[name] ?? null)
    added[name] = count === 'invalid' ? null : count
  }
  return { ...sum, ...added } as BilledUnits
}

/** Collects what each document under `data` reports, as far as that is final. */
export function createListAccumulator(read: (job: JsonObject) => readonly Observation[]): UsageAccumulator {
  let jobs: readonly Observation[] = []
  return {
    wantsEvery: false,
    add(document) {
      jobs = objectsIn(document?.data)
        .flatMap(read)
        .filter(({ responseId, usageSource }) => responseId !== null && usageSource === 'reported')
      return jobs.length > 0
    },
    snapshot: (ended) => observeJobs(ended ? jobs : []),
  }
}

function observationOf(read: JobFormat['read'], job: JsonObject): Observation {
  const accumulator = createUpdateAccumulator(read)
  accumulator.add(job, null, false)
  return accumulator.snapshot(true)
}

/** When something was made, as providers write it: seconds since 1970, or a date of ISO 8601. `null`: not said. */
export function madeAtMs(value: unknown): number | null {
  const ms =
    typeof value === 'string' ? Date.parse(value) : typeof value === 'number' ? value * 1_000 : Number.NaN
  return Number.isFinite(ms) && ms > 0 ? Math.round(ms) : null
}
