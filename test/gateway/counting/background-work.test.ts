import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadJobFetchConfig } from '../../../src/config/config.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { selectUnsettledJobs } from '../../../src/objects/table/jobs-table.ts'
import { createCallDays } from '../../../src/rollup/call-days.ts'
import { createRollUp } from '../../../src/rollup/roll-up.ts'
import { createJobFetcher, type JobFetcher } from '../../../workers/job-fetcher.ts'
import { quiet } from '../../rollup/records.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { expectSoundLedger } from '../support/late-costs.ts'
import {
  type BackgroundUpstream,
  RESPONSE_USAGE,
  RESPONSE_USD,
  startBackgroundUpstream,
} from './background-upstream.ts'

let folder: string
let provider: BackgroundUpstream
let stack: TestStack
let client: TestClient
let fetcher: JobFetcher | null = null
let clients = 0

beforeAll(async () => {
  provider = await startBackgroundUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-background-'))
  const file = join(folder, 'tallygate.yaml')
  const { url } = provider.upstream
  await writeFile(
    file,
    `upstreams:
  - { name: openai, url: '${url}', provider: openai }
  - { name: claude, url: '${url}', provider: anthropic, path_prefix: /claude }
default_upstream: openai
`,
  )
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: file } })
})
afterAll(async () => {
  await stack?.stop()
  await provider?.upstream.close()
  await rm(folder, { recursive: true })
})
beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`client-${clients}`)
  provider.work.clear()
  provider.upstream.requests.length = 0
  await stack.pool.query('update tallygate.objects set settled_at = now()')
})
afterEach(async () => {
  await fetcher?.close()
  fetcher = null
})

/** A worker's, which leaves a client five minutes to fetch its jobs itself. */
function openFetcher(): JobFetcher {
  const config = loadJobFetchConfig(stack.env)
  if (config === null) throw new Error('jobs are not to be fetched')
  const { pool } = stack
  const rollUp = createRollUp({ pool, callDays: createCallDays(pool, 35, quiet) })
  fetcher = createJobFetcher({ pool, rollUp, config, log: quiet })
  return fetcher
}

async function ask(method: string, path: string, body?: object): Promise<Response> {
  return await fetch(`${stack.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

async function make(path: string, body: object = {}): Promise<string> {
  const answer = await ask('POST', path, body)
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { id: string }).id
}

async function read(path: string): Promise<void> {
  const answer = await ask('GET', path)
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
}

const begin = (fields: object = {}, path = '/v1/responses') =>
  make(path, {
    model: 'gpt-4.1',
    input: 'hi',
    background: true,
    max_output_tokens: 100,
    ...fields,
  })

const cost = async () => (await stack.usage(client)).cost_usd

async function setBudget(usd: number): Promise<void> {
  const scope = { clientId: client.id, keyId: null, model: null }
  const amount = BigInt(Math.round(usd * 1e6)) * 1_000_000n
  await setLimits(stack.pool, scope, [{ kind: 'budget', per: 'day', isSoft: false, amount }], 'test')
  await expect.poll(shown).toMatchObject({ kind: 'budget' })
}

const shown = async () => (await stack.usage(client, '?include=limits')).limits?.[0]

const expectSound = () => expectSoundLedger(stack)

/** Ways to the result of work in the background that do not say what it used. */
const DOORS: readonly (readonly [name: string, door: () => Promise<void>, usd: number | null])[] = [
  [
    'the items of its conversation',
    async () => {
      const conversation = 'conv_0000001'
      await begin({ conversation })
      provider.endAll()
      await read(`/v1/conversations/${conversation}/items`)
    },
    RESPONSE_USD,
  ],
  [
    'the input of the response behind it',
    async () => {
      const first = await begin()
      provider.endAll()
      const second = await make('/v1/responses', {
        model: 'gpt-4.1',
        input: 'x',
        previous_response_id: first,
      })
      await read(`/v1/responses/${second}/input_items`)
    },
    // And the second: 10 and 2 tokens.
    RESPONSE_USD + 0.000036,
  ],
  [
    'the items of a run of an eval',
    async () => {
      const run = await make('/v1/evals/eval_00000001/runs', { data_source: { type: 'jsonl' } })
      provider.endAll()
      await read(`/v1/evals/eval_00000001/runs/${run}/output_items`)
    },
    RESPONSE_USD,
  ],
  [
    'the items of a run that does not sum up what it used',
    async () => {
      const run = await make('/v1/evals/eval_00000001/runs', { data_source: { type: 'jsonl' } })
      provider.endAll()
      const work = provider.work.get(run)
      if (work !== undefined) work.ended = { id: run, status: 'completed' }
      await read(`/v1/evals/eval_00000001/runs/${run}/output_items`)
    },
    RESPONSE_USD,
  ],
  ...['events', 'checkpoints'].map(
    (door) =>
      [
        `the ${door} of a training`,
        async () => {
          const job = await make('/v1/fine_tuning/jobs', { model: 'gpt-4.1-mini-2025-04-14' })
          provider.endAll()
          await read(`/v1/fine_tuning/jobs/${job}/${door}`)
        },
        null,
      ] as const,
  ),
]

const unsettled = async () =>
  (await selectUnsettledJobs(stack.pool)).filter(({ clientId }) => clientId === client.id).length

/** All that was sent is in the totals. */
const counted = async () => {
  const sent = provider.asked().length
  await stack.usageOf(client, sent)
}

describe('a result that is read where its use is not said', () => {
  test.each(DOORS)('%s: the next run of a worker counts what was used', async (_, door, usd) => {
    await door()
    await counted()
    const worker = openFetcher()
    await expect
      .poll(async () => {
        await worker.run()
        return await unsettled()
      })
      .toBe(0)
    if (usd !== null) expect(await cost()).toBeCloseTo(usd, 9)
    const { rows } = await stack.pool.query(
      `select sum(settlements)::int as settled, (coalesce(sum(input_tokens), 0) + coalesce(sum(trained_tokens), 0))::int as used
       from tallygate.daily_usage where client_id = $1`,
      [client.id],
    )
    expect(rows[0]?.settled).toBe(1)
    expect(rows[0]?.used).toBeGreaterThanOrEqual(900)
    await expectSound()
  })

  test('work that no one read is left to its client for a while', async () => {
    await begin()
    await counted()
    expect(await openFetcher().run()).toEqual({ fetched: 0, counted: 0 })
  })
})

describe('a job that its client deletes', () => {
  const KINDS: readonly (readonly [name: string, make: () => Promise<string>, path: string])[] = [
    ['a response', () => begin(), '/v1/responses'],
    ['a run of an eval', () => make('/v1/evals/eval_00000001/runs', {}), '/v1/evals/eval_00000001/runs'],
    ['a response at a path that is written oddly', () => begin({}, '/v1/%72esponses'), '/v1/responses'],
    ["a batch of Anthropic's", () => make('/claude/v1/messages/batches', {}), '/claude/v1/messages/batches'],
  ]

  test.each(KINDS)('%s is fetched before, and counts exactly', async (_, submit, path) => {
    const id = await submit()
    await counted()
    provider.endAll()
    expect((await ask('DELETE', `${path}/${id}`)).status).toBe(200)
    expect(provider.work.has(id)).toBe(false)
    // What the gateway fetches by itself adds no request of the client's.
    const summary = await stack.usageOf(client, 2)
    expect(summary.cost_usd).toBeGreaterThan(0)
    expect(await unsettled()).toBe(0)
    await expectSound()
  })

  test('one that still runs is not deleted: 409, and nothing goes upstream but the fetch of it', async () => {
    const id = await begin()
    const answer = await ask('DELETE', `/v1/responses/${id}`)
    expect(answer.status).toBe(409)
    expect(answer.headers.get('x-should-retry')).toBe('false')
    expect(await answer.json()).toMatchObject({ error: { code: 'still_running' } })
    expect(provider.asked()).toEqual(['POST /v1/responses', `GET /v1/responses/${id}`])
    provider.endAll()
    expect((await ask('DELETE', `/v1/responses/${id}`)).status).toBe(200)
    expect((await stack.usageOf(client, 2)).cost_usd).toBe(RESPONSE_USD)
  })

  test('a response that still streams is fetched, too, though its client has left the stream', async () => {
    const id = 'resp_bgStreams1'
    const ended = { id, object: 'response', status: 'completed', model: 'gpt-4.1', usage: RESPONSE_USAGE }
    provider.work.set(id, { id, running: true, ended })
    let end = () => {}
    provider.upstream.answer((request, response) => {
      if (request.method !== 'POST') return provider.answer(request, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const begun = { type: 'response.created', response: { ...ended, status: 'queued', usage: null } }
      response.write(`event: response.created\ndata: ${JSON.stringify(begun)}\n\n`)
      end = () => response.end()
      return undefined
    })
    try {
      const answer = await ask('POST', '/v1/responses', {
        ...{ model: 'gpt-4.1', input: 'hi' },
        ...{ background: true, stream: true },
      })
      const reader = answer.body?.getReader()
      await reader?.read()
      await reader?.cancel()
      expect((await ask('DELETE', `/v1/responses/${id}`)).status).toBe(409)
      provider.endAll()
      expect((await ask('DELETE', `/v1/responses/${id}`)).status).toBe(200)
    } finally {
      end()
      provider.upstream.answer(provider.answer)
    }
    // The stream that its client left was estimated, after the job had said what it used: at a few tokens, which earlier
    // calls have taught.
    const { cost_usd: costUsd } = await stack.usageOf(client, 2)
    expect(costUsd).toBeGreaterThanOrEqual(RESPONSE_USD)
    expect(costUsd).toBeLessThan(RESPONSE_USD * 1.1)
    await expectSound()
  })

  test('one of which the upstream says nothing now is not deleted: 502', async () => {
    const id = await begin()
    provider.upstream.answer((_request, response) => {
      response.writeHead(503).end()
    })
    try {
      expect((await ask('DELETE', `/v1/responses/${id}`)).status).toBe(502)
    } finally {
      provider.upstream.answer(provider.answer)
    }
    provider.endAll()
    expect((await ask('DELETE', `/v1/responses/${id}`)).status).toBe(200)
    expect((await stack.usageOf(client, 2)).cost_usd).toBe(RESPONSE_USD)
  })

  test('the runs of an eval go with it, and each is counted before', async () => {
    const eval_ = 'eval_00000002'
    await make(`/v1/evals/${eval_}/runs`, {})
    await make(`/v1/evals/${eval_}/%72uns`, {})
    await counted()
    provider.endAll()
    await ask('DELETE', `/v1/evals/${eval_}`)
    expect((await stack.usageOf(client, 3)).cost_usd).toBeCloseTo(2 * RESPONSE_USD, 9)
    expect(await unsettled()).toBe(0)
  })

  test('one that is cancelled is asked for what it used by then', async () => {
    const id = await begin()
    expect((await ask('POST', `/v1/responses/${id}/cancel`)).status).toBe(200)
    await stack.usageOf(client, 2)
    expect(await unsettled()).toBe(1)
    const worker = openFetcher()
    await expect
      .poll(async () => {
        await worker.run()
        return await unsettled()
      })
      .toBe(0)
    expect(await cost()).toBe(RESPONSE_USD)
    await expectSound()
  })
})

describe.each([
  ['with FETCH_JOBS', true],
  ['without FETCH_JOBS', false],
])('a hard budget of 0.05 USD %s', (_, isFetching) => {
  test('holds against work that is read elsewhere and then deleted, twelve times', async () => {
    await setBudget(0.05)
    const worker = isFetching ? openFetcher() : null
    let served = 0
    for (let round = 0; round < 12; round += 1) {
      // The work costs 0.0152 USD where some 0.0008 USD were expected.
      const answer = await ask('POST', '/v1/responses', {
        model: 'gpt-4.1',
        input: 'hi',
        background: true,
        conversation: 'conv_0000009',
        max_output_tokens: 100,
      })
      if (answer.status !== 200) {
        await answer.arrayBuffer()
        continue
      }
      served += 1
      const { id } = (await answer.json()) as { id: string }
      const work = provider.work.get(id)
      const usage = { input_tokens: 7_200, output_tokens: 100, total_tokens: 7_300 }
      if (work !== undefined) work.ended = { id, status: 'completed', model: 'gpt-4.1', usage }
      provider.endAll()
      await read('/v1/conversations/conv_0000009/items')
      expect((await ask('DELETE', `/v1/responses/${id}`)).status).toBe(200)
      await worker?.run()
      const spent = async () => Number((await shown())?.spent_usd)
      await expect.poll(spent).toBeCloseTo(served * 0.0152, 9)
    }
    // The one that passes the budget, and what ran until that was known.
    expect(served).toBeLessThanOrEqual(5)
    await expectSound()
  })

  test('is charged what was reserved for work that never says what it used', async () => {
    await setBudget(0.05)
    const id = await begin({ max_output_tokens: 2_000 })
    const work = provider.work.get(id)
    if (work !== undefined) work.ended = { id, status: 'completed', model: 'gpt-4.1' }
    provider.endAll()
    expect((await ask('DELETE', `/v1/responses/${id}`)).status).toBe(200)
    if (isFetching) await openFetcher().run()
    await expect.poll(async () => Number((await shown())?.charged_usd)).toBeGreaterThanOrEqual(0.016)
    const calls = await stack.calls(client)
    expect(calls[0]).toMatchObject({ cost_pico: null, unpriced_reason: 'billed_later' })
  })
})
