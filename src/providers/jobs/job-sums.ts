import type { JobObservation, Observation } from '../../call/observation.ts'
import { BILLED_UNITS, type BilledUnits, NO_UNITS } from '../../call/usage.ts'
import {
  addCounts,
  type Count,
  type CountedUsage,
  createUsageSum,
  observe,
  type UsageSum,
} from '../reading/counts.ts'

/**
 * An answer about jobs that reports nothing of what they used, or reports it in `jobs`. Its own text is none of a model's, so
 * there is nothing to estimate: what is to be counted is reported later, or elsewhere.
 */
export function observeJobs(jobs: readonly JobObservation[] = []): Observation {
  return observe(jobs.length === 0 ? { pending: true } : { pending: true, jobs })
}

/** Adds up what the requests of one job used, by model. */
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
  largestPrompt: number
}

export function createJobSums(): JobSums {
  const models = new Map<string | null, ModelSum>()
  return {
    add(model, counted, units, raw) {
      const known = models.get(model)
      const last = models.size < MAX_MODELS ? undefined : [...models.values()].at(-1)
      const sum = known ?? last ?? { usage: createUsageSum(), units: NO_UNITS, requests: 0, largestPrompt: 0 }
      if (known === undefined && last === undefined) models.set(model, sum)
      sum.usage.add(counted, false, raw)
      sum.requests += 1
      sum.largestPrompt = Math.max(sum.largestPrompt, counted.usage.inputTokens ?? 0)
      if (units !== null) sum.units = addUnits(sum.units, units)
    },
    jobs: (job) =>
      [...models].map(([model, { usage, units, requests, largestPrompt }]) => ({
        ...observe({ ...usage.observed(true), units, model }),
        ...(requests > 1 ? { largestPrompt } : {}),
        ...job,
      })),
  }
}

function addUnits(sum: BilledUnits, units: Partial<BilledUnits>): BilledUnits {
  const added: { [name: string]: Count } = {}
  for (const name of BILLED_UNITS) {
    const count = addCounts(sum[name], units[name] ?? null)
    added[name] = count === 'invalid' ? null : count
  }
  return { ...sum, ...added } as BilledUnits
}
