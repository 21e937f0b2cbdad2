import { foldObjectId, MAX_OBJECT_EVENTS, type ObjectEvent } from '../call/object-event.ts'
import type { KeptJob } from './table/jobs-table.ts'

/** Made within the seconds in which Postgres may lack them. */
const MAX_NEW_JOBS = 1_000

/**
 * The events of objects that running calls have made, by call, until their records take it; and the jobs that were made
 * lately.
 */
export class CallEvents {
  readonly #byCall = new Map<string, readonly ObjectEvent[]>()
  /** Newest last. */
  readonly #newJobs = new Map<string, KeptJob>()

  /** Gives whether it is new to the call. */
  add(callId: string, event: ObjectEvent): boolean {
    const events = this.#byCall.get(callId) ?? []
    const isKnown = events.some(({ id, is }) => id === event.id && is === event.is)
    if (isKnown || events.length === MAX_OBJECT_EVENTS) return false
    this.#byCall.set(callId, [...events, event])
    return true
  }

  /** What a call has made of objects by now; `undefined`: nothing. */
  of(callId: string): readonly ObjectEvent[] | undefined {
    return this.#byCall.get(callId)
  }

  /** Takes what a call has made of objects: once, for its record. */
  take(callId: string): readonly ObjectEvent[] | null {
    const taken = this.#byCall.get(callId)
    if (taken === undefined) return null
    this.#byCall.delete(callId)
    return taken
  }

  addJob(job: KeptJob): void {
    this.#newJobs.set(keyOf(job.upstream, job.foldedId), job)
    const [oldest] = this.#newJobs.keys()
    if (this.#newJobs.size > MAX_NEW_JOBS && oldest !== undefined) this.#newJobs.delete(oldest)
  }

  /** A job that was made lately; `null`: none of this id. */
  newJob(upstreams: readonly string[], id: string): KeptJob | null {
    for (const upstream of upstreams) {
      const job = this.#newJobs.get(keyOf(upstream, foldObjectId(id)))
      if (job !== undefined) return job
    }
    return null
  }

  /** Those of a kind that were made lately at `upstreams`. */
  newJobs(upstreams: readonly string[], kind: string): readonly KeptJob[] {
    return [...this.#newJobs.values()].filter((job) => job.kind === kind && upstreams.includes(job.upstream))
  }
}

function keyOf(upstream: string, foldedId: string): string {
  return `${upstream}\0${foldedId}`
}
