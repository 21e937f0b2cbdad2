import { newCallId } from '../src/call/call-id.ts'
import type { CallRecord } from '../src/call/call-record.ts'
import { reportsUse } from '../src/call/job-use.ts'
import type { ObjectKind } from '../src/call/object-event.ts'
import type { JobObservation, Observation } from '../src/call/observation.ts'
import { cleanPath } from '../src/domain/clean-text.ts'
import { finalizeCall } from '../src/gateway/recording/finalize-call.ts'
import type { Pricing } from '../src/gateway/recording/pricing.ts'
import { endpointContextOf } from '../src/gateway/routing/endpoint-context.ts'
import type { Upstream } from '../src/gateway/routing/upstreams.ts'
import { fetchAnswer } from '../src/http/client/fetch-answer.ts'
import { AnswerReader } from '../src/objects/answer-objects.ts'
import { hasEnded, hasFailed } from '../src/objects/object-status.ts'
import type { Dialect } from '../src/providers/dialect.ts'
import { selectDialect } from '../src/providers/dialects.ts'
import { observe } from '../src/providers/reading/counts.ts'
import { entryOf } from '../src/providers/registry.ts'
import type { ClaimedJob } from './job-claims.ts'
import { pathOfFile, pathOfJob, reportPathOf } from './job-paths.ts'

/** The caller of background fetches. Their usage is recorded for the client that created the job. */
export const GATEWAY_CALLER = '(gateway)'

/**
 * The result of a fetch. `told`: it has the job's usage, or the job failed and used nothing. `settled`: the
 * job has ended or is gone, and its usage will never be known.
 */
export type FetchedJob =
  | { readonly kind: 'told'; readonly record: CallRecord }
  | { readonly kind: 'settled' }
  | { readonly kind: 'running' }

/** @throws Where the upstream does not answer, or not as one that knows whether the job is there. */
export async function fetchJob(
  upstream: Upstream,
  pricing: Pricing,
  job: ClaimedJob,
  now: () => number = Date.now,
): Promise<FetchedJob> {
  if (job.kind === 'message_batch') {
    // Results are fetched only once they exist: before, their absence looks like that of a batch that is
    // gone.
    const { status, reader } = await ask(upstream, pathOfJob(job), '', null)
    if (status === 404) return { kind: 'settled' }
    if (!hasEnded(reader.objects.status)) return { kind: 'running' }
  }
  const path = reportPathOf(job)
  const arrivedAtMs = now()
  const { status, reader, observed, dialect } = await askAndRead(upstream, path, '')
  if (status === 404) return { kind: 'settled' }
  const asked: Asked = { upstream, pricing, job, arrivedAtMs }
  if (observed !== null && reportsOn(observed, job))
    return { kind: 'told', record: recordOf(asked, path, dialect, observed) }
  const { status: state, left } = reader.objects
  if (job.kind !== 'message_batch' && !hasEnded(state)) return { kind: 'running' }
  const files = left.flatMap(({ kind, id }) => (kind === 'file' ? [id] : []))
  const inFiles = await readFiles(asked, files)
  if (inFiles !== null) return { kind: 'told', record: inFiles }
  if (!hasFailed(state)) return { kind: 'settled' }
  const record = recordOf(asked, path, dialect, observe())
  const failed = { id: job.id, kind: job.kind as ObjectKind, is: 'ended', job: true, failed: true } as const
  return { kind: 'told', record: { ...record, objects: [failed] } }
}

interface Asked {
  readonly upstream: Upstream
  readonly pricing: Pricing
  readonly job: ClaimedJob
  readonly arrivedAtMs: number
}

/** One by one, as each may be large; together they report the job's usage. */
async function readFiles(asked: Asked, files: readonly string[]): Promise<CallRecord | null> {
  const jobs: JobObservation[] = []
  let read: { readonly path: string; readonly dialect: Dialect | null } | null = null
  for (const file of files) {
    const place = pathOfFile(asked.job, file)
    if (place === null) continue
    const [path, query] = place
    const { status, observed, dialect } = await askAndRead(asked.upstream, path, query)
    if (status !== 200 || observed?.jobs === undefined) continue
    for (const { isFile: _, ...reported } of observed.jobs)
      jobs.push({ ...reported, responseId: asked.job.id })
    read ??= { path, dialect }
  }
  return read === null ? null : recordOf(asked, read.path, read.dialect, observe({ jobs }))
}

function reportsOn(observed: Observation, { id }: ClaimedJob): boolean {
  const { usageSource, responseId, jobs } = observed
  if (jobs !== undefined) return jobs.some((reported) => reported.responseId === id)
  return responseId !== null && usageSource !== 'partial' && reportsUse(observed)
}

/** Priced at the time of the submission, which is known here. */
function recordOf(
  { upstream, pricing, job, arrivedAtMs }: Asked,
  path: string,
  dialect: Dialect | null,
  observed: Observation,
): CallRecord {
  const madeAtMs = job.createdAtMs
  const call = {
    callId: newCallId(arrivedAtMs),
    arrivedAtMs,
    clientId: GATEWAY_CALLER,
    keyId: GATEWAY_CALLER,
    upstream: upstream.name,
    provider: upstream.provider,
    method: 'GET',
    path: cleanPath(path),
    requestedModel: null,
    webSocket: false,
  }
  const { jobs, ...own } = observed
  return finalizeCall(
    {
      call,
      endpoint: endpointContextOf(dialect),
      client: job,
      status: 200,
      outcome: 'complete',
      observation: {
        ...own,
        madeAtMs,
        ...(jobs === undefined ? {} : { jobs: jobs.map((reported) => ({ ...reported, madeAtMs })) }),
      },
      latencyUs: null,
      ttftUs: null,
      estimates: null,
    },
    pricing,
  )
}

interface Answered {
  /** 200 or 404. */
  readonly status: number
  readonly reader: AnswerReader
}

/** An answer and what its dialect reads in it; `null`: no answer. */
async function askAndRead(
  upstream: Upstream,
  path: string,
  query: string,
): Promise<Answered & { readonly observed: Observation | null; readonly dialect: Dialect | null }> {
  const dialect = selectDialect(upstream.provider, 'GET', path)
  const usage =
    dialect?.createReader(
      { method: 'GET', path, model: null, stream: null },
      { status: 200, headers: { 'content-type': 'application/json' } },
    ) ?? null
  const answered = await ask(upstream, path, query, (chunk) => usage?.push(chunk))
  return { ...answered, dialect, observed: answered.status === 200 ? (usage?.end() ?? null) : null }
}

async function ask(
  upstream: Upstream,
  path: string,
  query: string,
  push: ((chunk: Buffer) => void) | null,
): Promise<Answered> {
  const headers = [
    'host',
    upstream.host,
    'accept-encoding',
    'identity',
    ...Object.entries(entryOf(upstream.provider).requestHeaders ?? {}).flat(),
    ...(upstream.credential ?? []),
  ]
  const request = { method: 'GET', path: upstream.basePath + path + query, headers, timeoutMs: null }
  const reader = new AnswerReader()
  // Results may be long, and take their time.
  const { status } = await fetchAnswer(upstream.pool, request, (chunk, found) => {
    if (found !== 200) return
    reader.push(chunk)
    push?.(chunk)
  })
  if (status !== 200 && status !== 404) throw new Error(`a job was answered with ${status}`)
  return { status, reader }
}
