import type { JobUse } from '../../call/call-record.ts'
import { foldObjectId, type ObjectEvent, type ObjectKind } from '../../call/object-event.ts'
import { reportsUse, useOf } from '../../call/record-fields.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import { isRunning } from '../../objects/object-kinds.ts'
import type { EndedJobs } from '../../objects/object-path.ts'
import type { Objects } from '../../objects/objects.ts'
import { type KeptJob, selectBatchesThatMayHaveLeft, selectJobs } from '../../objects/table/jobs-table.ts'
import { objectIn, textIn } from '../../providers/reading/json-value.ts'
import type { Provider } from '../../providers/registry.ts'
import { compileProjection, JsonScanner } from '../../providers/wires/json.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Pricing } from '../recording/pricing.ts'
import type { Upstream } from '../routing/upstream-table.ts'
import { ask, FETCHED_KINDS, type FetchedJob, fetchJob, JobUnanswered } from './fetch-job.ts'

/** What is known of jobs before a call ends them: what they used, and which failed or will never say. */
export interface EndedUses {
  readonly uses: readonly JobUse[]
  readonly events: readonly ObjectEvent[]
}

/**
 * What is known before a call ends jobs. `null`: nothing is to be known. `running`: one to be deleted still runs.
 * `unanswered`: the upstream cannot say now.
 */
export type BeforeEnd = EndedUses | 'running' | 'unanswered' | null

/** Fetches jobs whose use is not known before a call deletes or cancels them: afterwards no one could. */
export interface JobSettler {
  /**
   * Never rejects.
   *
   * @param clientId Whose call it is.
   */
  settle(upstream: Upstream, ended: EndedJobs, clientId: string): Promise<BeforeEnd>
}

export interface JobSettlerOptions {
  readonly objects: Pick<Objects, 'newJob' | 'newBatches'>
  readonly pricing: Pricing
  readonly pool: Postgres
}

/** A store that takes longer counts as away: then only jobs that were made here lately are known. */
const SELECT_MS = 2_000

/** For all of a job: results of batches are long. */
const FETCH_MS = 300_000
/** Batches that are asked before one file is deleted. With more, it waits until workers have asked them. */
const MOST_BATCHES = 20
/** Statuses by which an upstream says that it could answer later. */
const LATER: ReadonlySet<number> = new Set([408, 409, 425, 429])

/** `null`: the upstream will not say. */
type Fetched = FetchedJob | 'unanswered' | null

export function createJobSettler({ objects, pricing, pool }: JobSettlerOptions): JobSettler {
  const asking = new Map<string, Promise<Fetched>>()

  async function untold({ account }: Upstream, { ids, below }: EndedJobs): Promise<readonly KeptJob[]> {
    const folded = ids.map(foldObjectId)
    const kept = await withinDeadline(selectJobs(pool, account, folded, below), SELECT_MS).catch(() => [])
    const inStore = new Set(kept.map(({ foldedId }) => foldedId))
    const made = ids.flatMap((id) =>
      inStore.has(foldObjectId(id)) ? [] : (objects.newJob(account, id) ?? []),
    )
    const jobs = [...kept.filter(({ isUntold }) => isUntold), ...made]
    return jobs.filter(({ kind }) => FETCHED_KINDS.includes(kind))
  }

  async function notInStore(
    account: readonly string[],
    jobs: readonly KeptJob[],
  ): Promise<readonly KeptJob[]> {
    if (jobs.length === 0) return jobs
    const ids = jobs.map(({ foldedId }) => foldedId)
    const kept = await withinDeadline(selectJobs(pool, account, ids, ''), SELECT_MS).catch(() => [])
    const inStore = new Set(kept.map(({ foldedId }) => foldedId))
    return jobs.filter(({ foldedId }) => !inStore.has(foldedId))
  }

  /** A client that has seen the end of a batch in a list alone may know a file that is not known to be of it. */
  async function batchesOf(
    upstream: Upstream,
    { ids, filePath }: EndedJobs,
    clientId: string,
  ): Promise<readonly KeptJob[] | 'unanswered'> {
    if (filePath === null) return []
    const { account } = upstream
    const folded = ids.map(foldObjectId)
    // First: a batch that is rolled up meanwhile is in one of both, at least.
    const made = await notInStore(account, objects.newBatches(account, clientId))
    const found = selectBatchesThatMayHaveLeft(pool, account, clientId, folded, MOST_BATCHES + 1)
    const kept = await withinDeadline(found, SELECT_MS).catch(() => [])
    const known = new Set(kept.map(({ foldedId }) => foldedId))
    const batches = [...kept, ...made.filter(({ foldedId }) => !known.has(foldedId))]
    const isLeft = batches.length > 0 && (await answered(() => mayBeLeft(upstream, filePath)))
    if (isLeft === false) return []
    return isLeft === 'unanswered' || batches.length > MOST_BATCHES ? 'unanswered' : batches
  }

  /** Results may be long: calls that ask meanwhile wait for the same ones. */
  function fetchedOnce(upstream: Upstream, job: KeptJob): Promise<Fetched> {
    const key = `${upstream.name}\0${job.foldedId}`
    const asked = asking.get(key)
    if (asked !== undefined) return asked
    const found = answered(() => fetchJob(upstream, pricing, job, { timeoutMs: FETCH_MS })).finally(() =>
      asking.delete(key),
    )
    asking.set(key, found)
    return found
  }

  return {
    async settle(upstream, ended, clientId) {
      const uses: JobUse[] = []
      const events: ObjectEvent[] = []
      const named = await untold(upstream, ended)
      const others = await batchesOf(upstream, ended, clientId)
      if (others === 'unanswered') return others
      for (const job of [...named, ...others]) {
        const found = await fetchedOnce(upstream, job)
        if (found === 'unanswered') return found
        if (found === null) continue
        if (found.kind === 'running') {
          if (ended.isDeleted && isRunning(found.status) && named.includes(job)) return 'running'
        } else if (found.kind === 'told') {
          const { record } = found
          events.push(...(record.objects ?? []))
          if (record.jobs !== undefined) uses.push(...record.jobs)
          else if (reportsUse(record)) uses.push({ ...useOf(record), id: record.responseId ?? job.id })
        } else if (found.why === 'silent') {
          events.push({ id: job.id, kind: job.kind as ObjectKind, is: 'ended', job: true })
        }
      }
      return uses.length === 0 && events.length === 0 ? null : { uses, events }
    },
  }
}

/** `null`: the upstream will not say. */
async function answered<Answer>(ask: () => Promise<Answer>): Promise<Answer | 'unanswered' | null> {
  try {
    return await ask()
  } catch (error) {
    const willNot = error instanceof JobUnanswered && error.status < 500 && !LATER.has(error.status)
    return willNot ? null : 'unanswered'
  }
}

const FILE = compileProjection({ purpose: 'value' })
/** The purposes of files that a batch leaves, where they are apart from those that it reads. */
const LEFT: Partial<Record<Provider, RegExp>> = {
  openai: /^batch_output$/,
  'azure-openai': /^batch_output$/,
}
const OF_BATCHES = /batch/

/**
 * Asks the upstream whether a batch may have left this file: not one that is not there, or that says another purpose.
 *
 * @throws As `ask` does.
 */
async function mayBeLeft(at: Upstream, path: string): Promise<boolean> {
  const scanner = new JsonScanner(FILE)
  const written = path.split('/').map(encodeURIComponent).join('/')
  const { status } = await ask({ ...at, timeoutMs: FETCH_MS }, written, '', (chunk) => scanner.push(chunk))
  if (status === 404) return false
  const purpose = textIn(objectIn(scanner.extracted.value)?.purpose)
  return purpose === null || (LEFT[at.provider] ?? OF_BATCHES).test(purpose)
}
