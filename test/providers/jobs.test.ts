import { describe, expect, test } from 'vitest'
import type { Observation } from '../../src/call/observation.ts'
import { BILLED_UNITS, TOKEN_CLASSES } from '../../src/call/usage.ts'
import type { Provider } from '../../src/providers/registry.ts'
import { dialectOf } from './recordings/dialect-of.ts'

/** Reads an answer in pieces of `size` bytes. */
function read(
  provider: Provider,
  path: string,
  body: string,
  { size = body.length, status = 200, type = 'application/json', isCut = false } = {},
): Observation {
  const dialect = dialectOf(provider, 'GET', path)
  if (dialect === null) throw new Error(`nothing is metered at ${path}`)
  expect(dialect.responseUse).toBe('fetched')
  const reader = dialect.createReader(
    { method: 'GET', path, model: null, stream: null },
    { status, headers: { 'content-type': type } },
  )
  const bytes = Buffer.from(body)
  for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size))
  return isCut ? reader.peek() : reader.end()
}

/** Counts that were reported, without those that were not. */
function short({ responseId, model, serviceTier, madeAtMs, usage, units }: Observation) {
  const counts: Record<string, number> = {}
  for (const name of TOKEN_CLASSES) if (usage[name] !== null) counts[name] = usage[name]
  for (const name of BILLED_UNITS) if (units[name] !== null) counts[name] = units[name]
  return { responseId, model, serviceTier, madeAtMs: madeAtMs ?? null, counts }
}

const jobsOf = (observed: Observation) => (observed.jobs ?? []).map(short)

/** The same in whole and cut anywhere. */
function jobsIn(provider: Provider, path: string, body: string, type = 'application/json') {
  const whole = jobsOf(read(provider, path, body, { type }))
  for (const size of [1, 2, 3, 7, 64, 1_000])
    expect(jobsOf(read(provider, path, body, { size, type }))).toEqual(whole)
  return whole
}

const CREATED = 1_760_000_000
const tokens = (input_tokens: number, output_tokens: number) => ({
  input_tokens,
  output_tokens,
  total_tokens: input_tokens + output_tokens,
})

describe('a page of batches', () => {
  const page = (...data: readonly object[]) =>
    JSON.stringify({ object: 'list', data, has_more: false }, null, 1)

  test.each<[Provider, string]>([
    ['openai', '/v1/batches'],
    ['azure-openai', '/openai/batches'],
    ['azure-openai', '/openai/v1/batches'],
    ['groq', '/openai/v1/batches'],
  ])('a page of batches at %s %s reports what each ended batch has used', (provider, path) => {
    const body = page(
      { id: 'batch_1', status: 'completed', model: 'gpt-5', created_at: CREATED, usage: tokens(1_000, 500) },
      { id: 'batch_2', status: 'in_progress', model: 'gpt-5', usage: tokens(7, 7) },
      { id: 'batch_3', status: 'completed', model: null },
      { id: 'batch_4', status: 'cancelled', model: 'gpt-5', usage: tokens(3, 1) },
    )
    expect(jobsIn(provider, path, body)).toEqual([
      {
        responseId: 'batch_1',
        model: 'gpt-5',
        serviceTier: 'batch',
        madeAtMs: CREATED * 1_000,
        counts: { inputTokens: 1_000, outputTokens: 500 },
      },
      {
        responseId: 'batch_4',
        model: 'gpt-5',
        serviceTier: 'batch',
        madeAtMs: null,
        counts: { inputTokens: 3, outputTokens: 1 },
      },
    ])
  })

  test('a page of a hundred batches is read whole, and one that is cut reports nothing', () => {
    const body = page(
      ...Array.from({ length: 100 }, (_, index) => ({
        id: `batch_${index}`,
        status: 'completed',
        model: 'gpt-5',
        usage: tokens(index, 1),
        metadata: { note: 'x'.repeat(2_000) },
      })),
    )
    expect(jobsOf(read('openai', '/v1/batches', body))).toHaveLength(100)
    expect(read('openai', '/v1/batches', body.slice(0, -500), { isCut: true }).jobs).toBeUndefined()
  })
})

test('a fine-tuning job tells the tokens it was trained with once it has ended, by itself and in a list', () => {
  const job = {
    id: 'ftjob-1',
    model: 'gpt-4.1-mini-2025-04-14',
    status: 'succeeded',
    created_at: CREATED,
    trained_tokens: 500_000,
    fine_tuned_model: 'ft:gpt-4.1-mini:acme::1',
  }
  const path = '/v1/fine_tuning/jobs'
  const expected = {
    responseId: 'ftjob-1',
    model: 'gpt-4.1-mini-2025-04-14',
    serviceTier: null,
    madeAtMs: CREATED * 1_000,
    counts: { trainedTokens: 500_000 },
  }
  const one = read('openai', `${path}/ftjob-1`, JSON.stringify(job))
  expect(short(one)).toEqual(expected)
  expect(one.usageSource).toBe('reported')
  const running = { ...job, status: 'running', trained_tokens: null }
  expect(read('openai', `${path}/ftjob-1`, JSON.stringify(running))).toMatchObject({
    usageSource: 'none',
    pending: true,
  })
  expect(jobsIn('openai', path, JSON.stringify({ data: [running, job] }))).toEqual([expected])
})

test('a run of an eval tells what each model used, by itself and in a list', () => {
  const run = {
    id: 'evalrun_1',
    status: 'completed',
    created_at: CREATED,
    per_model_usage: [
      {
        model_name: 'gpt-5',
        invocation_count: 3,
        prompt_tokens: 1_000,
        completion_tokens: 500,
        total_tokens: 1_500,
        cached_tokens: 100,
      },
      {
        model_name: 'o4-mini',
        invocation_count: 1,
        prompt_tokens: 10,
        completion_tokens: 5,
        total_tokens: 15,
        cached_tokens: 0,
      },
    ],
  }
  const path = '/v1/evals/eval_1/runs'
  const reported = { responseId: 'evalrun_1', serviceTier: null, madeAtMs: CREATED * 1_000 }
  const expected = [
    { ...reported, model: 'gpt-5', counts: { inputTokens: 1_000, outputTokens: 500, cacheReadTokens: 100 } },
    { ...reported, model: 'o4-mini', counts: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 0 } },
  ]
  expect(jobsIn('openai', `${path}/evalrun_1`, JSON.stringify(run))).toEqual(expected)
  expect(
    jobsIn(
      'openai',
      path,
      JSON.stringify({ data: [{ ...run, id: 'evalrun_0', status: 'in_progress' }, run] }),
    ),
  ).toEqual(expected)
})

describe('a batch of Gemini’s', () => {
  const PATH = '/v1beta/batches/abc123'
  const response = (prompt: number, answer: number, extra: object = {}) => ({
    response: {
      candidates: [{ content: { parts: [{ text: 'so "usageMetadata": {"promptTokenCount": 9}' }] } }],
      usageMetadata: {
        promptTokenCount: prompt,
        candidatesTokenCount: answer,
        totalTokenCount: prompt + answer,
      },
      modelVersion: 'gemini-2.5-flash',
      ...extra,
    },
  })
  const batch = (responses: readonly object[], state = 'BATCH_STATE_SUCCEEDED') =>
    JSON.stringify({
      name: 'batches/abc123',
      metadata: {
        model: 'models/gemini-2.5-flash',
        displayName: 'a "inlinedResponses": [',
        createTime: '2026-11-20T10:00:00.5Z',
        state,
      },
      done: state === 'BATCH_STATE_SUCCEEDED',
      response: { inlinedResponses: { inlinedResponses: responses } },
    })
  const reported = {
    responseId: 'abc123',
    serviceTier: 'batch',
    madeAtMs: Date.parse('2026-11-20T10:00:00.5Z'),
  }

  test('a batch of Gemini’s is the sum of its responses, failed ones left out', () => {
    const body = batch([response(1_000, 500), { error: { code: 8 } }, response(10, 5)])
    expect(jobsIn('gemini', PATH, body)).toEqual([
      { ...reported, model: 'gemini-2.5-flash', counts: { inputTokens: 1_010, outputTokens: 505 } },
    ])
  })

  test('a batch of Gemini’s with many long responses is read whole, and is by model', () => {
    const long = { padding: 'x'.repeat(90_000) }
    const responses = Array.from({ length: 3_000 }, (_, index) =>
      response(1, 2, index % 1_000 === 0 ? { ...long, modelVersion: 'gemini-3' } : {}),
    )
    const observed = jobsOf(read('gemini', PATH, batch(responses), { size: 65_536 }))
    expect(observed).toEqual([
      { ...reported, model: 'gemini-3', counts: { inputTokens: 3, outputTokens: 6 } },
      { ...reported, model: 'gemini-2.5-flash', counts: { inputTokens: 2_997, outputTokens: 5_994 } },
    ])
  })

  test('a batch of Gemini’s that still runs, or is cut, reports nothing', () => {
    const running = batch([response(1, 2)], 'BATCH_STATE_RUNNING')
    expect(read('gemini', PATH, running).jobs).toBeUndefined()
    expect(read('gemini', PATH, batch([response(1, 2)]), { isCut: true }).jobs).toBeUndefined()
  })
})

describe('the file that a batch left', () => {
  const chat = (model: string, prompt_tokens: number, completion_tokens: number) => ({
    id: 'batch_req_1',
    custom_id: 'a',
    response: { status_code: 200, body: { model, usage: { prompt_tokens, completion_tokens } } },
    error: null,
  })
  const lines = (...documents: readonly object[]) =>
    documents.map((line) => `${JSON.stringify(line)}\n`).join('')
  const reported = { serviceTier: 'batch', madeAtMs: null }

  test.each<[Provider, string, string]>([
    ['openai', '/v1/files/file-out1/content', 'application/octet-stream'],
    ['azure-openai', '/openai/files/file-out1/content', 'application/octet-stream'],
    ['mistral', '/v1/files/file-out1/content', 'application/octet-stream'],
    ['mistral', '/v1/files/file-out1/content', 'text/plain; charset=utf-8'],
  ])('the batch file at %s %s as %s is the sum of its lines, by model', (provider, path, type) => {
    const body = lines(
      chat('m-1', 100, 10),
      { custom_id: 'b', response: { status_code: 400, body: { error: {} } } },
      chat('m-2', 7, 1),
      { response: { status_code: 200, body: { object: 'response', model: 'm-1', usage: tokens(5, 6) } } },
      {
        response: {
          status_code: 200,
          body: { object: 'list', model: 'm-3', usage: { prompt_tokens: 8, total_tokens: 8 } },
        },
      },
    )
    expect(jobsIn(provider, path, body, type)).toEqual([
      { ...reported, responseId: 'file-out1', model: 'm-1', counts: { inputTokens: 105, outputTokens: 16 } },
      { ...reported, responseId: 'file-out1', model: 'm-2', counts: { inputTokens: 7, outputTokens: 1 } },
      { ...reported, responseId: 'file-out1', model: 'm-3', counts: { inputTokens: 8, outputTokens: 0 } },
    ])
    expect(read(provider, path, body, { type }).jobs?.every(({ isFile }) => isFile)).toBe(true)
  })

  test('the batch file of Gemini has each response as the model gave it', () => {
    const line = {
      key: 'a',
      response: {
        modelVersion: 'gemini-2.5-pro',
        usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 6 },
      },
    }
    expect(jobsIn('gemini', '/download/v1beta/files/batch-1:download', lines(line, line))).toEqual([
      {
        ...reported,
        responseId: 'batch-1',
        model: 'gemini-2.5-pro',
        counts: { inputTokens: 10, outputTokens: 12 },
      },
    ])
  })

  test('a batch file that is read in part, cut, or of another kind reports nothing', () => {
    const path = '/v1/files/file-1/content'
    expect(read('openai', path, lines(chat('m', 1, 1)), { status: 206 }).jobs).toBeUndefined()
    expect(read('openai', path, lines(chat('m', 1, 1)), { isCut: true }).jobs).toBeUndefined()
    expect(read('openai', path, lines(chat('m', 1, 1)), { type: 'image/png' }).jobs).toBeUndefined()
    expect(read('openai', path, 'a,b\n1,2\n', { type: 'application/octet-stream' }).jobs).toBeUndefined()
  })
})

test('the results of Anthropic’s batches are given by model, searches with their message’s', () => {
  const line = (model: string, usage: object) =>
    `${JSON.stringify({ custom_id: 'a', result: { type: 'succeeded', message: { model, usage } } })}\n`
  const body =
    line('claude-a', { input_tokens: 100, output_tokens: 10, server_tool_use: { web_search_requests: 2 } }) +
    line('claude-b', { input_tokens: 5, output_tokens: 6 }) +
    line('claude-a', { input_tokens: 1, output_tokens: 2 })
  const reported = { responseId: 'msgbatch_1', serviceTier: 'batch', madeAtMs: null }
  expect(jobsIn('anthropic', '/v1/messages/batches/msgbatch_1/results', body, 'application/x-jsonl')).toEqual(
    [
      { ...reported, model: 'claude-a', counts: { inputTokens: 101, outputTokens: 12, webSearches: 2 } },
      { ...reported, model: 'claude-b', counts: { inputTokens: 5, outputTokens: 6 } },
    ],
  )
})

describe('what several requests used', () => {
  const line = (inputTokens: number) =>
    `${JSON.stringify({ response: { body: { model: 'm', usage: tokens(inputTokens, 1) } } })}\n`
  const file = (...prompts: readonly number[]) =>
    read('openai', '/v1/files/file-1/content', prompts.map(line).join(''), { type: 'application/jsonl' })

  test('a batch file says how long the longest prompt was, where it has more than one', () => {
    expect(file(5, 900, 7).jobs?.map(({ largestPrompt }) => largestPrompt)).toEqual([900])
    expect(file(900).jobs?.map(({ largestPrompt }) => largestPrompt)).toEqual([undefined])
  })

  test('prompts of other sizes are added up apart, as their prices may differ', () => {
    const [job] = file(5, 900, 300_000, 280_000).jobs ?? []
    expect(job?.usage.inputTokens).toBe(580_905)
    expect(job?.parts).toMatchObject([
      { model: 'm', usage: { inputTokens: 905, outputTokens: 2 }, prompts: { shortest: 5, longest: 900 } },
      { model: 'm', usage: { inputTokens: 580_000 }, prompts: { shortest: 280_000, longest: 300_000 } },
    ])
    expect(file(5, 900).jobs?.[0]?.parts).toBeNull()
  })

  test('a batch of one request says how long its prompt was', () => {
    const batch = { id: 'batch_1', model: 'm', status: 'completed', usage: tokens(10, 1) }
    for (const request_counts of [
      { total: 1, completed: 1, failed: 0 },
      { total: 4, completed: 1, failed: 3 },
    ]) {
      const observed = read('openai', '/v1/batches/batch_1', JSON.stringify({ ...batch, request_counts }))
      expect(observed.largestPrompt).toBeUndefined()
    }
  })

  test('a batch and a run of an eval report sums, of whose prompts nothing is known', () => {
    const batch = { id: 'batch_1', model: 'm', status: 'completed', usage: tokens(10, 1) }
    expect(read('openai', '/v1/batches/batch_1', JSON.stringify(batch)).largestPrompt).toBeNull()
    const ofTwo = { ...batch, request_counts: { total: 3, completed: 2, failed: 1 } }
    expect(read('openai', '/v1/batches/batch_1', JSON.stringify(ofTwo)).largestPrompt).toBeNull()
    const page = read('openai', '/v1/batches', JSON.stringify({ data: [batch] }))
    expect(page.jobs?.map(({ largestPrompt }) => largestPrompt)).toEqual([null])
    const used = { model_name: 'm', prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 }
    const run = { id: 'evalrun_1', status: 'completed', per_model_usage: [used] }
    const reported = read('openai', '/v1/evals/eval_1/runs/evalrun_1', JSON.stringify(run))
    expect(reported.jobs?.map(({ largestPrompt }) => largestPrompt)).toEqual([null])
  })
})
