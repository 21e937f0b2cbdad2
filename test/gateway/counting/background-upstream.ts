import { json, startUpstream, type TestUpstream, type UpstreamHandler } from '../../support/upstream.ts'

/** Work that runs behind its answer. */
export interface Work {
  readonly id: string
  /** While it runs; what its own GET answers once it has ended. */
  running: boolean
  ended: Record<string, unknown>
}

/** A provider whose work in the background ends when a test says so, and whose results have several doors. */
export interface BackgroundUpstream {
  readonly upstream: TestUpstream
  readonly work: Map<string, Work>
  /** All that runs ends. */
  endAll(): void
  /** What was asked for, with methods, but for lists of models. */
  asked(): readonly string[]
  /** How it answers by itself. */
  readonly answer: UpstreamHandler
}

/** Of a response in the background, by gpt-4.1: 0.0028 USD. */
export const RESPONSE_USAGE = { input_tokens: 1_000, output_tokens: 100, total_tokens: 1_100 }
export const RESPONSE_USD = 0.0028

const PREFIXES: Readonly<Record<string, string>> = {
  responses: 'resp_bg',
  runs: 'evalrun_bg1',
  jobs: 'ftjob-bg1',
  batches: 'msgbatch_bg1',
}

export async function startBackgroundUpstream(): Promise<BackgroundUpstream> {
  const work = new Map<string, Work>()
  let count = 0
  const say: UpstreamHandler = (request, response) => {
    const path = decodeURIComponent(request.url.split('?')[0] ?? '')
    const segments = path.split('/')
    const last = segments.at(-1) ?? ''
    const found = segments.map((segment) => work.get(segment)).find((known) => known !== undefined)
    if (request.method === 'POST' && PREFIXES[last] !== undefined) {
      count += 1
      const id = `${PREFIXES[last]}${10_000 + count}`
      const body = parse(request.body)
      const isRun = last !== 'responses' || body.background === true
      const made = { id, running: isRun, ended: endOf(last, id) }
      work.set(id, made)
      const small = { input_tokens: 10, output_tokens: 2, total_tokens: 12 }
      if (isRun) json(response, 200, { id, object: last, status: 'queued', processing_status: 'in_progress' })
      else
        json(response, 200, { id, object: 'response', status: 'completed', model: 'gpt-4.1', usage: small })
    } else if (found === undefined) {
      if (path.includes('/conversations/')) json(response, 200, { object: 'list', data: [], has_more: false })
      else json(response, 404, { error: { message: 'no such object' } })
    } else if (request.method === 'DELETE') {
      work.delete(found.id)
      json(response, 200, { id: found.id, deleted: true })
    } else if (last === 'cancel') {
      found.running = false
      json(response, 200, { id: found.id, object: 'response', status: 'cancelled', usage: null })
    } else if (last === 'results') {
      const message = { model: 'claude-haiku-4-5', usage: { input_tokens: 1_000, output_tokens: 100 } }
      response.writeHead(200, { 'content-type': 'application/x-jsonl' })
      response.end(`${JSON.stringify({ custom_id: 'a', result: { type: 'succeeded', message } })}\n`)
    } else if (last === 'output_items') {
      json(response, 200, itemsOf(request.url))
    } else if (last !== found.id) {
      json(response, 200, { object: 'list', data: [{ id: 'item_1' }], has_more: false })
    } else {
      const running = { id: found.id, status: 'in_progress', processing_status: 'in_progress' }
      json(response, 200, found.running ? running : found.ended)
    }
  }
  const upstream = await startUpstream(say)
  return {
    upstream,
    work,
    answer: say,
    endAll: () => {
      for (const one of work.values()) one.running = false
    },
    asked: () =>
      upstream.requests.flatMap(({ method, url }) =>
        url.startsWith('/v1/models') ? [] : [`${method} ${url}`],
      ),
  }
}

function endOf(kind: string, id: string): Record<string, unknown> {
  if (kind === 'responses') {
    return { id, object: 'response', status: 'completed', model: 'gpt-4.1', usage: RESPONSE_USAGE }
  }
  if (kind === 'runs') {
    const used = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100, cached_tokens: 0 }
    return { id, status: 'completed', per_model_usage: [{ model_name: 'gpt-4.1', ...used }] }
  }
  if (kind === 'jobs')
    return { id, status: 'succeeded', model: 'gpt-4.1-mini-2025-04-14', trained_tokens: 900 }
  return { id, type: 'message_batch', processing_status: 'ended' }
}

/** Two pages of one item each. */
function itemsOf(url: string) {
  const isSecond = url.includes('after=item_1')
  const usage = { prompt_tokens: 500, completion_tokens: 50, total_tokens: 550, cached_tokens: 0 }
  const sample = { model: 'gpt-4.1', output: [], usage }
  const id = isSecond ? 'item_2' : 'item_1'
  return { object: 'list', data: [{ id, sample }], has_more: !isSecond, last_id: id }
}

function parse(body: Buffer): Record<string, unknown> {
  try {
    return JSON.parse(body.toString('utf8')) as Record<string, unknown>
  } catch {
    return {}
  }
}
