import type { Observation } from '../../call/observation.ts'
import type { Dialect } from '../dialect.ts'
import type { Gatherer } from '../reading/body-reader.ts'
import { jsonDialect } from '../reading/json-dialect.ts'
import { type JsonObject, objectIn, objectsIn } from '../reading/json-value.ts'
import { createToldGatherer, type Told } from '../reading/usage-update.ts'
import { planJson } from '../wires/json.ts'
import type { Wanted } from '../wires/json-projection.ts'
import { findMembers } from '../wires/prefilter.ts'
import { observeJobs } from './job-sums.ts'

/** How one job is written, by itself and in a list. */
export interface JobFormat {
  readonly name: string
  /** What to keep of a job. */
  readonly wanted: { readonly [key: string]: Wanted }
  /** What a job tells; `text`: its usage as written, where that is known. */
  readonly read: (job: JsonObject, text: string | null) => Told | null
}

/** Fetching one job. */
export function jobDialect({ name, wanted, read }: JobFormat): Dialect {
  return jsonDialect({
    name,
    format: {
      plan: planJson(wanted),
      findTelling: findMembers(['usage']),
      createGatherer: () => createToldGatherer(read),
    },
  })
}

/** Listing jobs, a page of them in `data`: each that has ended tells what it used. */
export function jobListDialect({ name, wanted, read }: JobFormat): Dialect {
  return jsonDialect({
    name: `${name}-list`,
    format: {
      plan: planJson({ data: [wanted] }),
      findTelling: findMembers(['usage']),
      createGatherer: () => createListGatherer((job) => [observationOf(read, job)]),
    },
  })
}

/** Gathers what each document under `data` tells, as far as that is final. */
export function createListGatherer(read: (job: JsonObject) => readonly Observation[]): Gatherer {
  let jobs: readonly Observation[] = []
  return {
    wantsEvery: false,
    take(kept) {
      jobs = objectsIn(objectIn(kept.value)?.data)
        .flatMap(read)
        .filter(({ responseId, usageSource }) => responseId !== null && usageSource === 'reported')
      return jobs.length > 0
    },
    observe: (ended) => observeJobs(ended ? jobs : []),
  }
}

function observationOf(read: JobFormat['read'], job: JsonObject): Observation {
  const gatherer = createToldGatherer(read)
  gatherer.take({ value: job, raw: null }, false)
  return gatherer.observe(true)
}
