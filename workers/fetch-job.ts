import type { Dispatcher } from 'undici'
import { endpointFactsOf } from '../src/call/endpoint-facts.ts'
import { type Pricing, settle } from '../src/call/settle.ts'
import type { Upstream } from '../src/call/upstreams.ts'
import { selectDialect } from '../src/dialects/dialects.ts'
import { buildCallRecord, cleanPath } from '../src/domain/build-call-record.ts'
import { newCallId } from '../src/domain/call-id.ts'
import type { CallRecord } from '../src/domain/call-record.ts'
import { AnswerReader, hasEnded } from '../src/objects/answer-facts.ts'
import type { ClaimedJob } from '../src/store/job-claims.ts'

/** Who sends the requests that no client sent; `billCreators` gives what they bring to who made the job. */
export const GATEWAY_CALLER = '(gateway)'

/** What a fetch showed. `settled`: it has ended, or is gone, and there is nothing to count. */
export type FetchedJob =
  | { readonly kind: 'used'; readonly record: CallRecord }
  | { readonly kind: 'settled' }
  | { readonly kind: 'running' }

const HEADERS_TIMEOUT_MS = 60_000

/** Kinds whose use an answer tells, and what stands behind their id where it is told. */
const TOLD_BELOW: Readonly<Record<string, string>> = {
  async_completion: '',
  batch: '',
  interaction: '',
  message_batch: '/results',
  response: '',
}

export const FETCHED_KINDS: readonly string[] = Object.keys(TOLD_BELOW)

/** @throws Where the upstream does not answer, or not as one that knows whether the job is there. */
export async function fetchJob(upstream: Upstream, pricing: Pricing, job: ClaimedJob): Promise<FetchedJob> {
  const path = `${job.path.replace(/\/+$/, '')}/${encodeURIComponent(job.id)}`
  if (job.kind === 'message_batch') {
    // Its results are asked for once there are some: before, they are as absent as those of a batch that is gone.
    const { status, reader } = await ask(upstream, path, null)
    if (status === 404) return { kind: 'settled' }
    if (!hasEnded(reader.facts.status)) return { kind: 'running' }
  }
  const told = `${path}${TOLD_BELOW[job.kind] ?? ''}`
  const dialect = selectDialect(upstream.provider, 'GET', told)
  const usage =
    dialect?.createReader(
      { method: 'GET', path: told, model: null, stream: null },
      { status: 200, headers: { 'content-type': 'application/json' } },
    ) ?? null
  const arrivedAtMs = Date.now()
  const { status, reader } = await ask(upstream, told, (chunk) => usage?.push(chunk))
  if (status === 404) return { kind: 'settled' }
  const observation = usage?.end() ?? null
  if (observation === null || observation.usageSource !== 'reported' || observation.responseId === null) {
    const isOver = job.kind === 'message_batch' || hasEnded(reader.facts.status)
    return { kind: isOver ? 'settled' : 'running' }
  }
  const call = {
    callId: newCallId(arrivedAtMs),
    arrivedAtMs,
    clientId: GATEWAY_CALLER,
    keyId: GATEWAY_CALLER,
    upstream: upstream.name,
    provider: upstream.provider,
    method: 'GET',
    path: cleanPath(told),
    requestedModel: null,
    webSocket: false,
  }
  const end = settle(
    {
      call,
      endpoint: endpointFactsOf(dialect),
      clientName: null,
      status,
      outcome: 'complete',
      observation,
      latencyUs: null,
      ttftUs: null,
      estimates: null,
    },
    pricing,
  )
  return { kind: 'used', record: buildCallRecord(call, end) }
}

interface Answered {
  /** 200 or 404. */
  readonly status: number
  readonly reader: AnswerReader
}

async function ask(
  upstream: Upstream,
  path: string,
  push: ((chunk: Buffer) => void) | null,
): Promise<Answered> {
  const answer: Dispatcher.ResponseData = await upstream.pool.request({
    method: 'GET',
    path: upstream.basePath + path,
    headers: [
      'host',
      upstream.host,
      'accept-encoding',
      'identity',
      ...(upstream.provider === 'anthropic' ? ['anthropic-version', '2023-06-01'] : []),
      ...(upstream.credential ?? []),
    ],
    headersTimeout: HEADERS_TIMEOUT_MS,
  })
  const reader = new AnswerReader()
  for await (const chunk of answer.body as AsyncIterable<Buffer>) {
    if (answer.statusCode !== 200) continue
    reader.push(chunk)
    push?.(chunk)
  }
  if (answer.statusCode !== 200 && answer.statusCode !== 404) {
    throw new Error(`a job was answered with ${answer.statusCode}`)
  }
  return { status: answer.statusCode, reader }
}
