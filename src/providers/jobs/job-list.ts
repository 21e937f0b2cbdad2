import type { Observation } from '../../call/observation.ts'
import type { Dialect } from '../dialect.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, objectsIn } from '../reading/json-value.ts'
import type { UsageAccumulator } from '../reading/usage-update.ts'
import { createUpdateAccumulator, type UsageUpdate } from '../reading/usage-update.ts'
import type { ProjectionSpec } from '../wires/plans/json-projection.ts'
import { observeJobs } from './job-sums.ts'

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
