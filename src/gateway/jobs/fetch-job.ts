import { fetchAnswer } from '#http-client/fetch-answer.ts'
import { newCallId } from '../../call/call-id.ts'
import type { CallRecord } from '../../call/call-record.ts'
import type { ObjectKind } from '../../call/object-event.ts'
import type { JobObservation, Observation } from '../../call/observation.ts'
import { reportsUse } from '../../call/record-fields.ts'
import { cleanPath } from '../../domain/clean-text.ts'
import { AnswerReader } from '../../objects/answer-objects.ts'
import { hasEnded, hasFailed, LOST } from '../../objects/object-kinds.ts'
import type { KeptJob } from '../../objects/table/jobs-table.ts'
import type { Dialect, Polls } from '../../providers/dialect.ts'
import { createEvalItems } from '../../providers/jobs/openai-jobs.ts'
import type { ProviderEntry } from '../../providers/provider.ts'
import { observe } from '../../providers/reading/counts.ts'
import { objectIn } from '../../providers/reading/json-value.ts'
import { entryOf, type Provider, selectDialect } from '../../providers/registry.ts'
import { proofOf } from '../credentials/fetched-credential.ts'
import { finalizeCall } from '../recording/finalize-call.ts'
import type { Pricing } from '../recording/pricing.ts'
import { endpointContextOf } from '../routing/route.ts'
import type { Upstream } from '../routing/upstream-table.ts'

/** The caller of background fetches. Their usage is recorded for the client that created the job. */
export const GATEWAY_CALLER = '(gateway)'

/**
 * The result of a fetch. `told`: it has the job's usage, or the job failed and used nothing. `settled`: its usage will
 * never be known. It has ended and says nothing, its provider has no such job (any more), or a file that it left.
 * `running`: its status, '' where it says none.
 */
export type FetchedJob =
  | { readonly kind: 'told'; readonly record: CallRecord }
  | { readonly kind: 'settled'; readonly why: 'silent' | 'gone' | 'file_gone' }
  | { readonly kind: 'running'; readonly status: string }

/** The upstream answered, and not as one that knows whether the job is there. */
export class JobUnanswered extends Error {
  override readonly name = 'JobUnanswered'
  readonly status: number

  constructor(status: number) {
    super(`a job was answered with ${status}`)
    this.status = status
  }
}

/** Counts what batches in pages used. One serves only jobs that were made before it: what it has read is not read again. */
export interface PageCounter {
  /** Rejects where it cannot be counted now. */
  count(record: CallRecord): Promise<void>
  /** The readings of a batch's pages, by upstream and path: one is enough for all that was added to it. */
  readonly readings: Map<string, Promise<void>>
}

export interface FetchOptions {
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Absent: results that come in pages are not asked for. */
  readonly pages?: PageCounter
  /** For each answer; absent: only the limits of the upstream's pool hold. */
  readonly timeoutMs?: number | null
}

const GONE: FetchedJob = { kind: 'settled', why: 'gone' }

/** Kinds whose usage an answer reports, and the path after their id where it does. */
const REPORTED_BELOW: Readonly<Record<string, string>> = {
  async_completion: '',
  batch: '',
  completion: '',
  eval: '',
  fine_tuning_job: '',
  interaction: '',
  message_batch: '/results',
  response: '',
  video: '',
}

export const FETCHED_KINDS: readonly string[] = Object.keys(REPORTED_BELOW)

/**
 * xAI gives a completion that was put off out once, and keeps it for 24 hours. Its client has nearly all of them: what a
 * worker fetches, no client can.
 */
export const HANDED_OUT_ONCE = { kind: 'completion', minAgeSeconds: 23 * 3_600 } as const

/** What a model's path begins with, at Google. */
const GOOGLE_MODEL = /^(.*?\/v1\w*)\/.*:batchgeneratecontent$/i
/** Their results are in a file, or in an answer that is asked for them. */
const MISTRAL_BATCHES = /\/batch\/jobs\/*$/i

/** What is fetched elsewhere than below the path that it was submitted to, in formats that many providers have. */
const FETCHED_AT: NonNullable<ProviderEntry['fetchedAt']> = [
  [GOOGLE_MODEL, '$1/batches'],
  [/\/videos(?:\/.*)?$/i, '/videos'],
]

/** The path of a batch to which requests were added: that is asked what they used. */
const ADDED_TO = /^(.*\/batches\/[^/]+)\/requests$/i

/** Where a job is fetched, by the path of the call that submitted it. */
function pathOfJob(provider: Provider, { path, id }: KeptJob): string {
  let collection = path.replace(/\/+$/, '')
  const batch = ADDED_TO.exec(collection)?.[1]
  if (batch !== undefined) return batch
  const { fetchedAt = FETCHED_AT } = entryOf(provider)
  for (const [submitted, place] of fetchedAt) collection = collection.replace(submitted, place)
  return `${collection}/${encodeURIComponent(id)}`
}

/** Where a file that it left is read; `null`: unknown. The second is the path's rest. */
function pathOfFile({ path }: KeptJob, fileId: string): readonly [path: string, query: string] | null {
  const submitted = path.replace(/\/+$/, '')
  const google = GOOGLE_MODEL.exec(submitted)?.[1]
  const id = encodeURIComponent(fileId)
  if (google !== undefined) return [`/download${google}/files/${id}:download`, '?alt=media']
  const before = /^(.*)\/(?:batches|batch\/jobs)$/i.exec(submitted)?.[1]
  return before === undefined ? null : [`${before}/files/${id}/content`, '']
}

/**
 * Asks the upstream, with the gateway's credential for it, what a job used.
 *
 * @throws {JobUnanswered}
 * @throws Where the upstream does not answer.
 */
export async function fetchJob(
  fetchedFrom: Upstream,
  pricing: Pricing,
  job: KeptJob,
  { now = Date.now, pages, timeoutMs = null }: FetchOptions = {},
): Promise<FetchedJob> {
  const upstream = { ...fetchedFrom, timeoutMs }
  const polls = selectDialect(upstream.provider, 'POST', job.path)?.polls
  if (polls !== undefined) return await pollJob({ upstream, pricing, job, arrivedAtMs: now() }, polls)
  const at = pathOfJob(upstream.provider, job)
  if (job.kind === 'message_batch') {
    // Results are fetched only once they exist: before, their absence looks like that of a batch that is
    // gone.
    const { status, reader } = await ask(upstream, at, '', null)
    if (status === 404) return GONE
    const { status: state } = reader.objects
    if (!hasEnded(state)) return { kind: 'running', status: state }
  }
  const path = `${at}${REPORTED_BELOW[job.kind] ?? ''}`
  const arrivedAtMs = now()
  const { status, reader, observed, dialect } = await askAndRead(upstream, path, '', job.model)
  if (status === 404) return GONE
  if (status === 202) return { kind: 'running', status: '' }
  const asked: Asked = { upstream, pricing, job, arrivedAtMs }
  if (observed !== null && reportsOn(observed, job))
    return { kind: 'told', record: recordOf(asked, path, dialect, observed) }
  const { status: state, left } = reader.objects
  if (state === LOST) return GONE
  if (job.kind !== 'message_batch' && !hasEnded(state)) return { kind: 'running', status: state }
  if (job.kind === 'batch' && entryOf(upstream.provider).batchesInPages === true) {
    if (pages === undefined) return { kind: 'running', status: '' }
    await readOnce(asked, `${path}/results`, pages)
    return { kind: 'told', record: endOf(asked, path, dialect) }
  }
  if (left.length === 0 && MISTRAL_BATCHES.test(job.path)) {
    const { observed: inline } = await askAndRead(upstream, path, '?inline=true')
    if (inline !== null && reportsOn(inline, job))
      return { kind: 'told', record: recordOf(asked, path, dialect, inline) }
  }
  if (job.kind === 'eval') {
    const items = await readItems(upstream, job)
    if (items.length > 0)
      return { kind: 'told', record: recordOf(asked, path, dialect, observe({ jobs: items })) }
  }
  const files = left.flatMap(({ kind, id }) => (kind === 'file' ? [id] : []))
  const inFiles = await readFiles(asked, files)
  if (inFiles !== 'silent' && inFiles !== 'file_gone') return { kind: 'told', record: inFiles }
  if (!hasFailed(state)) return { kind: 'settled', why: inFiles }
  return { kind: 'told', record: endOf(asked, path, dialect) }
}

/** Of a job that has used nothing, or nothing more. */
function endOf(asked: Asked, path: string, dialect: Dialect | null): CallRecord {
  const { id, kind } = asked.job
  const ended = { id, kind: kind as ObjectKind, is: 'ended', job: true, failed: true } as const
  return { ...recordOf(asked, path, dialect, observe()), objects: [ended] }
}

async function readOnce(asked: Asked, path: string, pages: PageCounter): Promise<void> {
  const key = `${asked.upstream.name}\0${path}`
  const reading = pages.readings.get(key) ?? readPages(asked, path, pages)
  pages.readings.set(key, reading)
  await reading
}

/** Each result is counted once, whatever read it before. */
async function readPages(asked: Asked, path: string, pages: PageCounter): Promise<void> {
  const known = new Set<string>()
  let next: string | null = null
  do {
    const from: string = next === null ? '' : `&pagination_token=${encodeURIComponent(next)}`
    const { status, reader, observed, dialect } = await askAndRead(asked.upstream, path, `?limit=100${from}`)
    if (status !== 200) throw new JobUnanswered(status)
    if (observed?.jobs !== undefined) await pages.count(recordOf(asked, path, dialect, observed))
    next = reader.objects.nextPage
    // An upstream whose pages lead back to one another, or go on for ever, is not followed.
    if (next !== null && (known.has(next) || known.size === MAX_PAGES_OF_RESULTS))
      throw new Error('the pages of results have no end')
    if (next !== null) known.add(next)
  } while (next !== null)
}

/** A million results. */
const MAX_PAGES_OF_RESULTS = 10_000

/** Asks where the job was submitted, by a request of its own form. */
async function pollJob(asked: Asked, { dialect, query, bodyOf }: Polls): Promise<FetchedJob> {
  const { upstream, job } = asked
  const { path } = job
  const body = bodyOf(job.id)
  const usage = dialect.createReader(
    { method: 'POST', path, model: null, stream: null, fields: objectIn(JSON.parse(body)) },
    ANSWERED,
  )
  const { status } = await ask(upstream, path, query, (chunk) => usage.push(chunk), Buffer.from(body))
  if (status === 404) return GONE
  if (status === 202) return { kind: 'running', status: '' }
  const found = usage.end()
  const observed = { ...found, model: found.model ?? dialect.modelInPath(path) }
  if (reportsOn(observed, job))
    return { kind: 'told', record: { ...recordOf(asked, path, dialect, observed), method: 'POST' } }
  return observed.pending ? { kind: 'running', status: '' } : { kind: 'settled', why: 'silent' }
}

const ANSWERED = { status: 200, headers: { 'content-type': 'application/json' } } as const

interface AskedUpstream extends Upstream {
  readonly timeoutMs: number | null
}

interface Asked {
  readonly upstream: AskedUpstream
  readonly pricing: Pricing
  readonly job: KeptJob
  readonly arrivedAtMs: number
}

/** One by one, as each may be large; together they report the job's usage. */
async function readFiles(
  asked: Asked,
  files: readonly string[],
): Promise<CallRecord | 'silent' | 'file_gone'> {
  const jobs: JobObservation[] = []
  let found: 'silent' | 'file_gone' = 'silent'
  let read: { readonly path: string; readonly dialect: Dialect | null } | null = null
  for (const file of files) {
    const place = pathOfFile(asked.job, file)
    if (place === null) continue
    const [path, query] = place
    const { status, observed, dialect } = await askAndRead(asked.upstream, path, query)
    if (status === 404) found = 'file_gone'
    if (status !== 200 || observed?.jobs === undefined) continue
    for (const { isFile: _, ...reported } of observed.jobs)
      jobs.push({ ...reported, responseId: asked.job.id })
    read ??= { path, dialect }
  }
  return read === null ? found : recordOf(asked, read.path, read.dialect, observe({ jobs }))
}

/** A run of an eval that does not sum up what it used: its items tell, a page after the other. */
async function readItems(upstream: AskedUpstream, job: KeptJob): Promise<readonly JobObservation[]> {
  const items = createEvalItems()
  let after: string | null = null
  for (let pages = 0; pages < MAX_PAGES_OF_ITEMS; pages += 1) {
    const page = items.page()
    const query: string = after === null ? '' : `&after=${encodeURIComponent(after)}`
    const { status } = await ask(
      upstream,
      `${pathOfJob(upstream.provider, job)}/output_items`,
      `?limit=100${query}`,
      (chunk) => page.push(chunk),
    )
    after = status === 200 ? page.end() : null
    if (after === null) break
  }
  return items.jobs(job.id)
}

const MAX_PAGES_OF_ITEMS = 1_000

function reportsOn(observed: Observation, { id }: KeptJob): boolean {
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
  /** 200, 404, or 202: it is not ready. */
  readonly status: number
  readonly reader: AnswerReader
}

/** An answer and what its dialect reads in it; `null`: no answer. */
async function askAndRead(
  upstream: AskedUpstream,
  path: string,
  query: string,
  model: string | null = null,
): Promise<Answered & { readonly observed: Observation | null; readonly dialect: Dialect | null }> {
  const dialect = selectDialect(upstream.provider, 'GET', path)
  const usage = dialect?.createReader({ method: 'GET', path, model, stream: null }, ANSWERED) ?? null
  const answered = await ask(upstream, path, query, (chunk) => usage?.push(chunk))
  return { ...answered, dialect, observed: answered.status === 200 ? (usage?.end() ?? null) : null }
}

export async function ask(
  upstream: AskedUpstream,
  path: string,
  query: string,
  push: ((chunk: Buffer) => void) | null,
  body: Buffer | null = null,
): Promise<Answered> {
  const target = upstream.basePath + path + query
  const method = body === null ? 'GET' : 'POST'
  const headers = [
    ...(body === null ? [] : ['content-type', 'application/json']),
    'host',
    upstream.host,
    'accept-encoding',
    'identity',
    ...Object.entries(entryOf(upstream.provider).requestHeaders ?? {}).flat(),
    ...(await proofOf(upstream, method, target)),
  ]
  const request = {
    method,
    path: target,
    headers,
    body,
    timeoutMs: upstream.timeoutMs,
  }
  const reader = new AnswerReader()
  // Results may be long, and take their time.
  const { status } = await fetchAnswer(upstream.pool, request, (chunk, found) => {
    if (found !== 200) return
    reader.push(chunk)
    push?.(chunk)
  })
  if (status !== 200 && status !== 202 && status !== 404) throw new JobUnanswered(status)
  return { status, reader }
}
