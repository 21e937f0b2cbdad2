import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { loadJobFetchConfig } from '../../../src/config/config.ts'
import { countUnsettledJobs } from '../../../src/objects/table/jobs-table.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { createJobFetcher } from '../../../workers/job-fetcher.ts'
import { quiet } from '../../rollup/records.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { countUnpriced, expectSoundLedger } from '../support/late-costs.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let clients = 0
/** What the upstream answers, by method and path. */
const answers = new Map<string, object | string>()

beforeAll(async () => {
  upstream = await startUpstream((request, response) => {
    const path = request.url.split('?')[0] ?? ''
    const answer = answers.get(`${request.method} ${path}`)
    if (answer === undefined) json(response, 404, { error: { message: 'no such object' } })
    else if (typeof answer === 'string') {
      const type = path.endsWith('/results') ? 'application/x-jsonl' : 'application/octet-stream'
      response.writeHead(200, { 'content-type': type }).end(answer)
    } else if ('cut' in answer) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write(answer.cut, () => response.destroy())
    } else json(response, 200, 'polled' in answer && isPoll(request.body) ? answer.polled : answer)
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-late-jobs-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${upstream.url}', provider: openai }
  - { name: mistral, url: '${upstream.url}/m', provider: mistral, path_prefix: /mistral }
  - { name: google, url: '${upstream.url}/g', provider: gemini, path_prefix: /google }
  - { name: claude, url: '${upstream.url}/c', provider: anthropic, path_prefix: /claude }
  - { name: cloudflare, url: '${upstream.url}/f', provider: cloudflare, path_prefix: /cloudflare }
  - { name: zai, url: '${upstream.url}/z', provider: zai, path_prefix: /zai }
  - { name: alibaba, url: '${upstream.url}/q', provider: alibaba, path_prefix: /alibaba }
  - { name: alibaba-v1, url: '${upstream.url}/q/api/v1', provider: alibaba, path_prefix: /alibaba-v1 }
  - { name: router, url: '${upstream.url}/r', provider: openrouter, path_prefix: /router, trust_reported_cost: true }
default_upstream: openai
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, FETCH_JOBS: 'true' } })
})
afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  answers.clear()
  clients += 1
  client = await stack.addClient(`client-${clients}`)
})

/** As Cloudflare's queue is asked what came of a request. */
function isPoll(body: Buffer): boolean {
  return body.includes('"request_id"')
}

async function ask(method: string, path: string, body?: object): Promise<void> {
  const answer = await fetch(`${stack.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(answer.status).toBe(200)
  await answer.text()
}

/** Has a worker fetch jobs until none waits. */
async function runFetcher(): Promise<void> {
  const { pool } = stack
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  const fetcher = createJobFetcher({ pool, rollUp, config, log: quiet, minAgeSeconds: 0 })
  try {
    await expect
      .poll(async () => {
        await pool.query('update tallygate.objects set fetch_after = null')
        await fetcher.run()
        return (await countUnsettledJobs(pool)).jobs
      })
      .toBe(0)
  } finally {
    await fetcher.close()
  }
}

const unpriced = () => countUnpriced(stack, client)
const expectSound = () => expectSoundLedger(stack)

const usage = { input_tokens: 1_000, output_tokens: 500, total_tokens: 1_500 }

test('a batch counts once at the price of batches, in a list or by itself, and is unpriced until then', async () => {
  const batch = { id: 'batch_list1', object: 'batch', status: 'validating', created_at: Date.now() / 1_000 }
  const done = { ...batch, status: 'completed', model: 'gpt-5', output_file_id: 'file-list1', usage }
  answers.set('POST /v1/batches', batch)
  answers.set('GET /v1/batches', { object: 'list', data: [done], has_more: false })
  answers.set('GET /v1/batches/batch_list1', done)
  answers.set(
    'GET /v1/files/file-list1/content',
    `${JSON.stringify({ response: { status_code: 200, body: { model: 'gpt-5', usage } } })}\n`,
  )
  await ask('POST', '/v1/batches', { input_file_id: 'file_in' })
  await stack.usageOf(client, 1)
  expect(await unpriced()).toBe(1)

  await ask('GET', '/v1/batches')
  const counted = { input_tokens: 1_000, output_tokens: 500, cost_usd: 0.003125 }
  expect(await stack.usageOf(client, 2)).toMatchObject(counted)
  await ask('GET', '/v1/batches/batch_list1')
  await ask('GET', '/v1/files/file-list1/content')
  expect(await stack.usageOf(client, 4)).toMatchObject(counted)
  expect(await unpriced()).toBe(0)
  const settlements = (await stack.calls(client)).filter(({ told_by }) => told_by !== null)
  expect(settlements).toMatchObject([{ model: 'gpt-5', service_tier: 'batch', path: '/v1/batches' }])
  await expectSound()
})

test('a batch whose usage says what it cost is at that cost', async () => {
  const batch = { id: 'batch_cost1', object: 'batch', status: 'validating', created_at: Date.now() / 1_000 }
  answers.set('POST /r/v1/batches', batch)
  answers.set('GET /r/v1/batches/batch_cost1', {
    ...batch,
    status: 'completed',
    model: 'openai/gpt-5',
    usage: { ...usage, cost: 0.0123 },
  })
  await ask('POST', '/router/v1/batches', { input_file_id: 'file_in' })
  await stack.usageOf(client, 1)
  await ask('GET', '/router/v1/batches/batch_cost1')
  expect(await stack.usageOf(client, 2)).toMatchObject({ input_tokens: 1_000, cost_usd: 0.0123 })
  expect(await unpriced()).toBe(0)
})

test('an answer that breaks off before the use of a job leaves the job waiting', async () => {
  answers.set('POST /v1/responses', { id: 'resp_cut1', object: 'response', status: 'queued' })
  answers.set('GET /v1/responses/resp_cut1', { cut: '{"id":"resp_cut1","status":"completed",' })
  await ask('POST', '/v1/responses', { model: 'gpt-4o-mini', background: true })
  await stack.usageOf(client, 1)
  const waiting = (await countUnsettledJobs(stack.pool)).jobs
  await expect(ask('GET', '/v1/responses/resp_cut1')).rejects.toThrow()
  await stack.usageOf(client, 2)
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(waiting)
  const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
  answers.set('GET /v1/responses/resp_cut1', {
    id: 'resp_cut1',
    status: 'completed',
    model: 'gpt-4o-mini',
    usage,
  })
  await ask('GET', '/v1/responses/resp_cut1')
  expect(await stack.usageOf(client, 3)).toMatchObject({ input_tokens: 10, output_tokens: 5 })
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(waiting - 1)
})

test('a batch of Mistral’s counts with the file that it left, and no other file counts', async () => {
  const result = (prompt_tokens: number) =>
    `${JSON.stringify({ response: { status_code: 200, body: { model: 'mistral-small-latest', usage: { prompt_tokens, completion_tokens: 50, total_tokens: prompt_tokens + 50 } } } })}\n`
  answers.set('POST /m/v1/batch/jobs', { id: 'job-1-abc', object: 'batch', status: 'QUEUED' })
  answers.set('GET /m/v1/batch/jobs/job-1-abc', {
    id: 'job-1-abc',
    object: 'batch',
    status: 'SUCCESS',
    output_file: 'out-1-abc',
  })
  answers.set('GET /m/v1/files/out-1-abc/content', result(100) + result(200))
  answers.set('GET /m/v1/files/mine-1-abc/content', result(1_000_000))
  await ask('POST', '/mistral/v1/batch/jobs', { model: 'mistral-small-latest' })
  await ask('GET', '/mistral/v1/batch/jobs/job-1-abc')
  await ask('GET', '/mistral/v1/files/mine-1-abc/content')
  await stack.usageOf(client, 3)
  // It has ended, and no call has read what it used yet.
  expect(await unpriced()).toBe(1)
  await ask('GET', '/mistral/v1/files/out-1-abc/content')
  await ask('GET', '/mistral/v1/files/out-1-abc/content')
  expect(await stack.usageOf(client, 5)).toMatchObject({ input_tokens: 300, output_tokens: 100 })
  expect(await stack.calls(client)).toContainEqual(
    expect.objectContaining({ usage_source: 'reported', response_id: 'job-1-abc', service_tier: 'batch' }),
  )
  await expectSound()
})

test('a batch of Gemini’s counts with its responses, at the price of batches', async () => {
  const response = {
    modelVersion: 'gemini-2.5-flash',
    usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 500, totalTokenCount: 1_500 },
  }
  const metadata = { model: 'models/gemini-2.5-flash', createTime: new Date().toISOString() }
  answers.set('POST /g/v1beta/models/gemini-2.5-flash:batchGenerateContent', {
    name: 'batches/abc123xyz',
    metadata: { ...metadata, state: 'BATCH_STATE_PENDING' },
  })
  answers.set('GET /g/v1beta/batches/abc123xyz', {
    name: 'batches/abc123xyz',
    metadata: { ...metadata, state: 'BATCH_STATE_SUCCEEDED' },
    done: true,
    response: { inlinedResponses: { inlinedResponses: [{ response }] } },
  })
  await ask('POST', '/google/v1beta/models/gemini-2.5-flash:batchGenerateContent', { batch: {} })
  await ask('GET', '/google/v1beta/batches/abc123xyz')
  await ask('GET', '/google/v1beta/batches/abc123xyz')
  expect(await stack.usageOf(client, 3)).toMatchObject({
    input_tokens: 1_000,
    output_tokens: 500,
    cost_usd: 0.000775,
  })
  expect(await unpriced()).toBe(0)
  await expectSound()
})

test('results of several models are each at their own price, and can be priced again', async () => {
  const line = (model: string, input_tokens: number) =>
    `${JSON.stringify({ custom_id: 'a', result: { type: 'succeeded', message: { model, usage: { input_tokens, output_tokens: 10 } } } })}\n`
  answers.set('POST /c/v1/messages/batches', {
    id: 'msgbatch_one1',
    type: 'message_batch',
    processing_status: 'in_progress',
  })
  answers.set(
    'GET /c/v1/messages/batches/msgbatch_one1/results',
    line('claude-haiku-4-5', 100) + line('claude-opus-4-5', 7),
  )
  await ask('POST', '/claude/v1/messages/batches', { requests: [] })
  await ask('GET', '/claude/v1/messages/batches/msgbatch_one1/results')
  // Haiku 4.5 at 1 and 5 USD per million tokens, Opus 4.5 at 5 and 25, and half of it for batches.
  const cost = (100 * 1 + 10 * 5 + 7 * 5 + 10 * 25) / 2 / 1e6
  expect((await stack.usageOf(client, 2)).cost_usd).toBe(cost)
  expect(await unpriced()).toBe(0)
  await expectSound()
})

test('fine-tuning and runs of evals are their submitters’ when they are fetched; what failed costs nothing', async () => {
  answers.set('POST /v1/fine_tuning/jobs', {
    id: 'ftjob-a1b2c3',
    object: 'fine_tuning.job',
    status: 'queued',
  })
  answers.set('GET /v1/fine_tuning/jobs/ftjob-a1b2c3', {
    id: 'ftjob-a1b2c3',
    status: 'succeeded',
    model: 'gpt-4.1-mini-2025-04-14',
    trained_tokens: 500_000,
  })
  answers.set('POST /v1/evals/eval_a1b2c3/runs', { id: 'evalrun_a1b2c3', status: 'queued' })
  answers.set('GET /v1/evals/eval_a1b2c3/runs/evalrun_a1b2c3', {
    id: 'evalrun_a1b2c3',
    status: 'completed',
    per_model_usage: [
      {
        model_name: 'gpt-5',
        prompt_tokens: 1_000,
        completion_tokens: 500,
        total_tokens: 1_500,
        cached_tokens: 0,
      },
      {
        model_name: 'gpt-5-mini',
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        cached_tokens: 0,
      },
    ],
  })
  answers.set('POST /v1/batches', { id: 'batch_failed1', status: 'validating' })
  answers.set('GET /v1/batches/batch_failed1', { id: 'batch_failed1', status: 'failed', usage: null })
  await ask('POST', '/v1/fine_tuning/jobs', { model: 'gpt-4.1-mini-2025-04-14' })
  await ask('POST', '/v1/evals/eval_a1b2c3/runs', {})
  await ask('POST', '/v1/batches', {})
  await stack.usageOf(client, 3)
  expect(await unpriced()).toBe(3)
  for (const path of [
    '/v1/fine_tuning/jobs/ftjob-a1b2c3',
    '/v1/evals/eval_a1b2c3/runs/evalrun_a1b2c3',
    '/v1/batches/batch_failed1',
  ]) {
    await ask('GET', path)
    await ask('GET', path)
  }
  const summary = await stack.usageOf(client, 9)
  expect(summary).toMatchObject({ input_tokens: 1_010, output_tokens: 505 })
  // GPT-5 at 1.25 and 10 USD per million tokens, its mini at 0.25 and 2.
  expect(summary.cost_usd).toBeGreaterThanOrEqual((1_000 * 1.25 + 500 * 10 + 10 * 0.25 + 5 * 2) / 1e6)
  const rows = await stack.calls(client)
  const trained = rows.find(({ response_id: id, told_by: by }) => id === 'ftjob-a1b2c3' && by !== null)
  expect(trained).toMatchObject({ trained_tokens: '500000', model: 'gpt-4.1-mini-2025-04-14' })
  expect(rows.filter(({ method }) => method === 'POST').every(({ settled }) => settled === true)).toBe(true)
  await expectSound()
})

const ZAI_QUEUE = '/api/paas/v4/async/chat/completions'
const ZAI_PICTURES = '/api/paas/v4/async/images/generations'
const ZAI_FILMS = '/api/paas/v4/videos/generations'

/** Puts work into Z.ai's queue, where it ends so. */
async function queueAtZai(
  id: string,
  ended: object,
  path = ZAI_QUEUE,
  request: object = { model: 'glm-4.6', messages: [] },
): Promise<void> {
  const task = { request_id: `of-${id}`, model: 'glm-4.6', ...request }
  answers.set(`POST /z${path}`, { ...task, id, task_status: 'PROCESSING' })
  answers.set(`GET /z/api/paas/v4/async-result/${id}`, { ...task, ...ended })
  await ask('POST', `/zai${path}`, request)
}

const RUN = '/client/v4/accounts/a/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast'
const ROOM = '768f15b7-4fd6-4498-906e-ad94ffc7f8d2'

/** Puts requests into Cloudflare's queue, where they come to so much. */
async function queueAtCloudflare(request_id: string, polled: object): Promise<void> {
  answers.set(`POST /f${RUN}`, { result: { status: 'queued', request_id }, success: true, polled })
  await ask('POST', `/cloudflare${RUN}?queueRequest=true`, { requests: [{ prompt: 'Tell me.' }] })
}

const usageOf = (prompt_tokens: number) => ({
  result: {
    responses: [{ id: 0, result: { response: 'Yes.' }, success: true }],
    usage: { prompt_tokens, completion_tokens: 7, total_tokens: prompt_tokens + 7 },
  },
  success: true,
})

test('what Cloudflare’s queue used counts once, and another client’s request is not found', async () => {
  await queueAtCloudflare(ROOM, { result: { status: 'running', request_id: ROOM }, success: true })
  await ask('POST', `/cloudflare${RUN}?queueRequest=true`, { request_id: ROOM })
  await stack.usageOf(client, 2)
  expect(await unpriced()).toBe(1)
  const other = await stack.addClient('other-at-cloudflare')
  const refused = await fetch(`${stack.url}/cloudflare${RUN}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${other.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ request_id: ROOM.toUpperCase() }),
  })
  expect(refused.status).toBe(404)
  for (const queue of [RUN, `/v1/a/gateway/workers-ai/${RUN.slice(RUN.indexOf('@'))}`]) {
    const form = new FormData()
    form.set('request_id', ROOM)
    const inForm = await fetch(`${stack.url}/cloudflare${queue}?queueRequest=true`, {
      method: 'POST',
      headers: { authorization: `Bearer ${other.key}` },
      body: form,
    })
    expect(inForm.status).toBe(404)
    for (const [type, body] of [
      ['application/x-www-form-urlencoded', `&request_id=${ROOM}`],
      ['application/x-www-form-urlencoded', `p=${'x'.repeat(65_536)}&request_id=${ROOM}`],
      ['application/x-www-form-urlencoded', `{"prompt":"&request_id=${ROOM}&x="}`],
      ['application/x-www-form-urlencoded', `request_id=${ROOM}`],
      [
        'application/x-www-form-urlencoded',
        `request%5Fid=${ROOM.slice(0, 1)}%${ROOM.charCodeAt(1).toString(16)}${ROOM.slice(2)}`,
      ],
      ['text/plain', JSON.stringify({ request_id: ROOM })],
    ] as const) {
      const otherwise = await fetch(`${stack.url}/cloudflare${queue}?queueRequest=true`, {
        method: 'POST',
        headers: { authorization: `Bearer ${other.key}`, 'content-type': type },
        body,
      })
      expect([type, otherwise.status >= 400]).toEqual([type, true])
    }
  }
  answers.set(`POST /f${RUN}`, usageOf(100))
  await ask('POST', `/cloudflare${RUN}?queueRequest=true`, { request_id: ROOM })
  await ask('POST', `/cloudflare${RUN}?queueRequest=true`, { request_id: ROOM })
  expect(await stack.usageOf(client, 4)).toMatchObject({ input_tokens: 100, output_tokens: 7 })
  expect(await unpriced()).toBe(0)
  // Whatever orders work beside the id is work.
  await ask('POST', `/cloudflare${RUN}?queueRequest=true`, { request_id: ROOM, prompt: 'Tell me.' })
  expect(await stack.usageOf(client, 5)).toMatchObject({ input_tokens: 200, output_tokens: 14 })
  await expectSound()
})

/** Puts a task into Alibaba's queue, where it ends so. */
async function queueAtAlibaba(task_id: string, path: string, model: string, ended: object): Promise<void> {
  answers.set(`POST /q/api/v1${path}`, { request_id: 'a', output: { task_id, task_status: 'PENDING' } })
  answers.set(`GET /q/api/v1/tasks/${task_id}`, { request_id: 'b', ...ended })
  await ask('POST', `/alibaba/api/v1${path}`, { model, input: {} })
}
const succeeded = { task_status: 'SUCCEEDED' }

// alibabacloud.com/help/en/model-studio, "Asynchronous task management API", and the models' "Query task result".
test('a task of Alibaba’s counts once for its submitter: pictures, films, and the seconds of transcripts', async () => {
  const tasks = [
    ['t-picture-1', '/services/aigc/text2image/image-synthesis', 'wan2.2-t2i-flash', { image_count: 4 }],
    [
      't-film-0001',
      '/services/aigc/video-generation/video-synthesis',
      'wan2.2-t2v-plus',
      { video_duration: 5, video_count: 1, SR: 1080 },
    ],
    [
      't-edited-01',
      '/services/aigc/video-generation/video-synthesis',
      'happyhorse',
      { duration: 13.24, input_video_duration: 6.62, output_video_duration: 6.62, video_count: 1, SR: 720 },
    ],
    ['t-words-001', '/services/audio/asr/transcription', 'paraformer-v2', { duration: 9 }],
    ['t-words-002', '/services/audio/asr/transcription', 'qwen3-asr-flash-filetrans', { seconds: 3 }],
  ] as const
  for (const [id, path, model, usage] of tasks) {
    await queueAtAlibaba(id, path, model, { output: { task_id: id, ...succeeded }, usage })
    for (let times = 0; times < 2; times += 1) await ask('GET', `/alibaba/api/v1/tasks/${id}`)
  }
  await stack.usageOf(client, 3 * tasks.length)
  const { rows } = await stack.pool.query(
    'select model, service_tier, images::int, video_ms::int, audio_ms::int from tallygate.calls where client_id = $1 and told_by is not null order by model',
    [client.id],
  )
  const none = { images: null, video_ms: null, audio_ms: null }
  expect(rows).toEqual([
    { ...none, model: 'happyhorse', service_tier: '720p', video_ms: 13_240 },
    { ...none, model: 'paraformer-v2', service_tier: null, audio_ms: 9_000 },
    { ...none, model: 'qwen3-asr-flash-filetrans', service_tier: null, audio_ms: 3_000 },
    { ...none, model: 'wan2.2-t2i-flash', service_tier: null, images: 4 },
    { ...none, model: 'wan2.2-t2v-plus', service_tier: '1080p', video_ms: 5_000 },
  ])
  await expectSound()
})

test('texts of a file that Alibaba embeds count with their task, also where its address ends in /api/v1', async () => {
  const path = '/services/embeddings/text-embedding/text-embedding'
  for (const [at, id] of [
    ['/alibaba/api/v1', 't-vectors-01'],
    ['/alibaba-v1/v1', 't-vectors-02'],
  ]) {
    answers.set(`POST /q/api/v1${path}`, { request_id: 'a', output: { task_id: id, task_status: 'PENDING' } })
    const ended = {
      output: { task_id: id, ...succeeded, url: 'https://example.com/1' },
      usage: { total_tokens: 384 },
    }
    answers.set(`GET /q/api/v1/tasks/${id}`, { request_id: 'b', ...ended })
    await ask('POST', `${at}${path}`, { model: 'text-embedding-async-v2', input: {} })
    for (let times = 0; times < 2; times += 1) await ask('GET', `${at}/tasks/${id}`)
  }
  expect(await stack.usageOf(client, 6)).toMatchObject({ input_tokens: 768, output_tokens: 0 })
  const settlements = (await stack.calls(client)).filter(({ told_by }) => told_by !== null)
  expect(settlements.map(({ model }) => model)).toEqual([
    'text-embedding-async-v2',
    'text-embedding-async-v2',
  ])
  expect((await countUnsettledJobs(stack.pool)).jobs).toBe(0)
})

test('a task of Alibaba’s that was canceled costs nothing, and one that it knows no more is waited for no more', async () => {
  const text = '/services/aigc/text-generation/generation'
  const ids = ['t-canceled-1', 't-canceled-2', 't-forgotten1'] as const
  for (const id of ids) {
    const task_status = id.startsWith('t-c') ? 'CANCELED' : 'UNKNOWN'
    await queueAtAlibaba(id, text, 'qwen-plus', { output: { task_id: id, task_status } })
  }
  await ask('GET', `/alibaba/api/v1/tasks/${ids[0]}`)
  await stack.usageOf(client, 4)
  await runFetcher()
  const { rows } = await stack.pool.query(
    'select id, lost_at is not null as lost from tallygate.objects where client_id = $1 and job order by id',
    [client.id],
  )
  expect(rows).toEqual(ids.map((id) => ({ id, lost: id === 't-forgotten1' })))
  expect(await unpriced()).toBe(1)
  expect(await stack.usage(client)).toMatchObject({ cost_usd: 0 })
})

test('jobs of all these kinds that no client fetches are fetched by a worker, their files too', async () => {
  const result = {
    response: {
      status_code: 200,
      body: {
        model: 'mistral-small-latest',
        usage: { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 },
      },
    },
  }
  const google = {
    response: {
      modelVersion: 'gemini-2.5-flash',
      usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 6, totalTokenCount: 11 },
    },
  }
  answers.set('POST /m/v1/batch/jobs', { id: 'job-2-abc', status: 'QUEUED' })
  answers.set('GET /m/v1/batch/jobs/job-2-abc', {
    id: 'job-2-abc',
    status: 'SUCCESS',
    output_file: 'out-2-abc',
  })
  answers.set('GET /m/v1/files/out-2-abc/content', `${JSON.stringify(result)}\n`)
  answers.set('POST /g/v1beta/models/gemini-2.5-flash:batchGenerateContent', { name: 'batches/file222' })
  answers.set('GET /g/v1beta/batches/file222', {
    name: 'batches/file222',
    metadata: { state: 'BATCH_STATE_SUCCEEDED' },
    done: true,
    response: { responsesFile: 'files/out222' },
  })
  answers.set('GET /g/download/v1beta/files/out222:download', `${JSON.stringify({ key: 'a', ...google })}\n`)
  answers.set('POST /v1/fine_tuning/jobs', { id: 'ftjob-d4e5f6', status: 'queued' })
  answers.set('GET /v1/fine_tuning/jobs/ftjob-d4e5f6', {
    id: 'ftjob-d4e5f6',
    status: 'succeeded',
    model: 'gpt-4.1-mini-2025-04-14',
    trained_tokens: 7,
  })
  answers.set('POST /v1/batches', { id: 'batch_failed2', status: 'validating' })
  answers.set('GET /v1/batches/batch_failed2', { id: 'batch_failed2', status: 'failed' })
  await ask('POST', '/mistral/v1/batch/jobs', {})
  await ask('POST', '/google/v1beta/models/gemini-2.5-flash:batchGenerateContent', {})
  await ask('POST', '/v1/fine_tuning/jobs', {})
  await ask('POST', '/v1/batches', {})
  await queueAtZai('8353992720000001', {
    task_status: 'SUCCESS',
    choices: [{ finish_reason: 'stop', message: { content: 'Yes.' } }],
    usage: { prompt_tokens: 300, completion_tokens: 20, total_tokens: 320 },
  })
  await queueAtZai('8353992720000002', { task_status: 'FAIL' })
  const film = { model: 'cogvideox-3', prompt: 'A cat.' }
  const made = { task_status: 'SUCCESS', video_result: [{ url: 'https://example.com/1.mp4' }] }
  await queueAtZai('8353992720000003', made, ZAI_FILMS, film)
  await queueAtZai('8353992720000004', { task_status: 'FAIL' }, ZAI_FILMS, film)
  const drawn = { task_status: 'SUCCESS', image_result: [{ url: 'https://example.com/1.png' }] }
  await queueAtZai('8353992720000005', drawn, ZAI_PICTURES, { model: 'glm-image', prompt: 'A cat.' })
  await queueAtCloudflare('00000000-4fd6-4498-906e-ad94ffc7f8d2', usageOf(1_000))
  const tokens = { input_tokens: 40, output_tokens: 2, total_tokens: 42 }
  const text = '/services/aigc/text-generation/generation'
  await queueAtAlibaba('t-worker-001', text, 'qwen-plus', {
    output: { task_id: 't-worker-001', ...succeeded },
    usage: tokens,
  })
  await queueAtAlibaba('t-worker-002', text, 'qwen-plus', { output: { task_status: 'FAILED' } })
  await stack.usageOf(client, 12)
  expect(await unpriced()).toBe(12)

  await runFetcher()
  expect(await stack.usage(client)).toMatchObject({ requests: 12, input_tokens: 1_356, output_tokens: 42 })
  const { rows } = await stack.pool.query(
    'select sum(trained_tokens)::int as trained, sum(settlements)::int as settlements from tallygate.daily_usage where client_id = $1',
    [client.id],
  )
  expect(rows).toEqual([{ trained: 7, settlements: 8 }])
  expect(await unpriced()).toBe(0)
  await expectSound()
})
