// xAI's batches take requests at any time and give their results in pages, while they run, too.
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { loadJobFetchConfig } from '../../../src/config/config.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { countUnsettledJobs } from '../../../src/objects/table/jobs-table.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { createJobFetcher, type JobFetcher } from '../../../workers/job-fetcher.ts'
import { quiet } from '../../rollup/records.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { countUnpriced, expectSoundLedger } from '../support/late-costs.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let fetcher: JobFetcher
let number = 0
/** The batch, and what its requests came to. */
let id = ''
let results: object[] = []
let pending = 0
let answerPage: ((response: ServerResponse) => void) | null = null
let batches: object[] = []

const batch = () => ({
  batch_id: id,
  name: 'evaluation',
  create_time: '2026-11-27T03:00:00Z',
  state: { num_requests: results.length + pending, num_pending: pending, num_success: results.length },
})

/** A chat of 1,000 and 100 tokens at 0.001 USD, as xAI says it. */
const chat = (line: string, answerId = `answer-${line}`) => ({
  batch_request_id: line,
  batch_result: {
    response: {
      chat_get_completion: {
        id: answerId,
        object: 'chat.completion',
        model: 'grok-4.3',
        choices: [{ finish_reason: 'stop', message: { content: 'Yes.' } }],
        usage: {
          prompt_tokens: 1_000,
          completion_tokens: 100,
          total_tokens: 1_100,
          cost_in_usd_ticks: 10_000_000,
        },
      },
    },
  },
})

beforeAll(async () => {
  upstream = await startUpstream(({ method, url }, response) => {
    const { pathname, searchParams } = new URL(url, 'http://upstream')
    if (method === 'POST') json(response, 200, pathname.endsWith('/requests') ? {} : batch())
    else if (pathname.endsWith('/results')) {
      if (answerPage !== null) {
        answerPage(response)
        return
      }
      const from = Number(searchParams.get('pagination_token') ?? '0')
      const to = from + Number(searchParams.get('limit') ?? '100')
      const next = to < results.length ? { pagination_token: `${to}` } : {}
      json(response, 200, { results: results.slice(from, to), ...next })
    } else if (pathname.endsWith('/batches')) {
      const isFirst = !searchParams.has('pagination_token')
      json(response, 200, isFirst ? { batches, pagination_token: 'p2' } : { batches: [batch()] })
    } else json(response, 200, batch())
  })
  folder = await mkdtemp(join(tmpdir(), 'tallygate-xai-batches-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams: [{ name: xai, url: '${upstream.url}', provider: xai, trust_reported_cost: true }]\n`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file, FETCH_JOBS: 'true' } })
})
afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  number += 1
  client = await stack.addClient(`client-${number}`)
  id = `batch_9a5613d7-da24-4503-${number}`
  results = []
  batches = []
  pending = 0
  answerPage = null
  const { pool } = stack
  await pool.query('update tallygate.objects set settled_at = now() where settled_at is null')
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  fetcher = createJobFetcher({ pool, rollUp, config, log: quiet, minAgeSeconds: 0 })
})
afterEach(async () => {
  await fetcher.close()
})

async function ask(path: string, body?: object, { key } = client): Promise<Response> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  return await fetch(`${stack.url}${path}`, {
    headers,
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  })
}

async function read(path: string): Promise<void> {
  const answer = await ask(path)
  expect(answer.status).toBe(200)
  await answer.text()
}

async function add(...lines: readonly string[]): Promise<void> {
  const batch_requests = lines.map((line) => ({
    batch_request_id: line,
    batch_request: { chat_get_completion: { model: 'grok-4.3', messages: [] } },
  }))
  const answer = await ask(`/v1/batches/${id}/requests`, { batch_requests })
  expect(answer.status).toBe(200)
  await answer.text()
}

async function submit(...lines: readonly string[]): Promise<void> {
  const answer = await ask('/v1/batches', { name: 'evaluation' })
  expect(await answer.json()).toMatchObject({ batch_id: id })
  await add(...lines)
  await stack.usageOf(client, 2)
}

const unpriced = () => countUnpriced(stack, client)
async function waiting(): Promise<number> {
  return (await countUnsettledJobs(stack.pool)).jobs
}

async function expectCounted(requests: number, lines: number): Promise<void> {
  const usage = await stack.usageOf(client, requests)
  expect(usage).toMatchObject({ input_tokens: 1_000 * lines, output_tokens: 100 * lines })
  expect(usage.cost_usd).toBeCloseTo(0.001 * lines, 9)
  await expectSoundLedger(stack)
}

test('each result counts once, in however many pages and times it is read, by its client and by a worker', async () => {
  await submit('a', 'b', 'c')
  expect(await unpriced()).toBe(2)
  expect(await waiting()).toBe(2)
  results = ['a', 'b'].map((line) => chat(line))
  pending = 1
  await read(`/v1/batches/${id}/results?limit=1`)
  await expectCounted(3, 1)
  await read(`/v1/batches/${id}/results?limit=2`)
  await read(`/batches/${id}/results?limit=1&pagination_token=1`)
  await expectCounted(5, 2)
  await fetcher.run()
  expect(await waiting()).toBe(2)
  results = ['a', 'b', 'c'].map((line) => chat(line))
  pending = 0
  await stack.pool.query('update tallygate.objects set fetch_after = null')
  await fetcher.run()
  expect(await waiting()).toBe(0)
  expect(await unpriced()).toBe(0)
  await expectCounted(5, 3)
  await read(`/v1/batches/${id}/results`)
  await expectCounted(6, 3)
})

test('what no client reads is read by a worker, page by page, once for all that was added', async () => {
  results = Array.from({ length: 250 }, (_, line) => chat(`line-${line}`))
  await submit('line-0')
  await add('line-1')
  await add('line-2')
  await stack.usageOf(client, 4)
  await fetcher.run()
  expect(await waiting()).toBe(0)
  expect(await unpriced()).toBe(0)
  await expectCounted(4, 250)
  expect(upstream.requests.filter(({ url }) => url.includes(`${id}/results`))).toHaveLength(3)
})

test('requests that are added to a batch that was counted are counted, too', async () => {
  results = [chat('a')]
  await submit('a')
  await fetcher.run()
  await expectCounted(2, 1)
  await add('b')
  await stack.usageOf(client, 3)
  expect(await waiting()).toBe(1)
  results.push(chat('b'))
  await fetcher.run()
  expect(await waiting()).toBe(0)
  await expectCounted(3, 2)
})

test('what is added to a batch that no client made is its client’s who added it', async () => {
  await add('a')
  await stack.usageOf(client, 1)
  results = [chat('a')]
  await fetcher.run()
  expect(await waiting()).toBe(0)
  expect(await unpriced()).toBe(0)
  await expectCounted(1, 1)
})

test('results under one id of their client’s choice count each', async () => {
  await submit('a', 'a')
  results = [chat('a', 'answer-1'), chat('a', 'answer-2'), chat('x'.repeat(9_000)), chat('x'.repeat(9_001))]
  await read(`/v1/batches/${id}/results`)
  await expectCounted(3, 4)
})

test('a page of a thousand results counts whole', async () => {
  await submit('a')
  results = Array.from({ length: 1_000 }, (_, line) => chat(`line-${line}`))
  await read(`/v1/batches/${id}/results?limit=1000`)
  await expectCounted(3, 1_000)
})

test('pictures and films are at the cost that they say, and what says none is unpriced', async () => {
  await submit('a')
  const said = (response: object) => ({
    batch_request_id: JSON.stringify(response),
    batch_result: { response },
  })
  results = [
    said({ image_generation: { data: [], usage: { cost_in_usd_ticks: 200_000_000 } } }),
    said({ video_generation: { video: { duration: 4 }, usage: { cost_in_usd_ticks: 3_000_000_000 } } }),
    said({ something_new: { text: 'x' } }),
    { batch_request_id: 'failed', batch_result: { error: { code: 3, message: 'no' } } },
  ]
  await read(`/v1/batches/${id}/results`)
  expect((await stack.usageOf(client, 3)).cost_usd).toBeCloseTo(0.32, 9)
  expect(await unpriced()).toBe(3)
})

test('pages that lead back to one another are each read once, and their batch waits', async () => {
  await submit('a')
  results = [chat('a')]
  let pages = 0
  answerPage = (response) => {
    pages += 1
    json(response, 200, { results, pagination_token: pages % 2 === 0 ? 'even' : 'odd' })
  }
  await fetcher.run()
  expect(pages).toBe(3)
  expect(await waiting()).toBeGreaterThan(0)
})

test('a client that hangs up amid a page pays for all of it', async () => {
  await submit('a', 'b')
  const page = JSON.stringify({ results: [chat('a'), chat('b')] })
  const answering = new Promise<ServerResponse>((resolve) => {
    answerPage = resolve
  })
  const sent = request(`${stack.url}/v1/batches/${id}/results`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  sent.on('error', () => {}).end()
  const response = await answering
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write(page.slice(0, 100))
  await once(sent, 'response')
  sent.destroy()
  await expect.poll(() => stack.gateway.unattendedCalls()).toBeGreaterThan(0)
  response.end(page.slice(100))
  await expectCounted(3, 2)
})

test('a batch is its client’s: others neither list it, nor read it, nor add to it', async () => {
  await submit('a')
  const other = await stack.addClient(`other-${number}`)
  batches = [{ batch_id: `batch_of_the_operator-${number}` }]
  for (const path of ['', '/results', '/requests']) {
    expect((await ask(`/v1/batches/${id}${path}`, undefined, other)).status).toBe(404)
  }
  expect((await ask(`/v1/batches/${id}/requests`, { batch_requests: [] }, other)).status).toBe(404)
  expect((await ask(`/v1/batches/${id}:cancel`, {}, other)).status).toBe(404)
  const asked = upstream.requests.filter(({ url }) => url.includes(id))
  expect(asked).toHaveLength(1)
  expect(await (await ask('/v1/batches', undefined, other)).json()).toEqual({ batches: [] })
  expect(await (await ask('/v1/batches')).json()).toEqual({ batches: [batch()] })
})

test('all that is added to a batch reserves of a hard budget until it is counted', async () => {
  const scope = { clientId: client.id, keyId: null, model: null }
  const amount = 2_500_000_000_000n
  await setLimits(stack.pool, scope, [{ kind: 'budget', per: 'day', isSoft: false, amount }], 'test')
  await expect
    .poll(async () => (await stack.usage(client, '?include=limits')).limits)
    .toMatchObject([{ kind: 'budget' }])
  await submit('a')
  const more = { batch_requests: [{ batch_request_id: 'b', batch_request: {} }] }
  expect((await ask(`/v1/batches/${id}/requests`, more)).status).toBe(429)
  results = [chat('a')]
  await fetcher.run()
  await expect.poll(async () => (await ask(`/v1/batches/${id}/requests`, more)).status).toBe(200)
})

test('a key with a list of models adds no requests, whatever model they name', async () => {
  const listed = await stack.addClient(`listed-${number}`, { models: ['grok-3'] })
  const requests = { batch_requests: [{ batch_request: { chat_get_completion: { model: 'grok-4.3' } } }] }
  expect((await ask(`/v1/batches/${id}/requests`, requests, listed)).status).toBe(403)
  expect((await ask('/v1/batches', { name: 'x' }, listed)).status).toBe(403)
})
