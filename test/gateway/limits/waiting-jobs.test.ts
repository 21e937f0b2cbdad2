import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let number = 0
let made = 0
/** What the upstream says of jobs, by path. */
const answers = new Map<string, object>()

beforeAll(async () => {
  upstream = await startUpstream((request, response) => {
    const path = request.url.split('?')[0] ?? ''
    if (request.method === 'DELETE') json(response, 200, { id: path.split('/').at(-1), deleted: true })
    else if (request.method === 'POST' && (path === '/v1/batches' || path === '/v1/responses')) {
      made += 1
      const isBatch = path === '/v1/batches'
      const id = `${isBatch ? 'batch' : 'resp'}_waiting${made}`
      const object = isBatch ? 'batch' : 'response'
      json(response, 200, { id, object, status: isBatch ? 'validating' : 'queued', background: !isBatch })
    } else json(response, 200, answers.get(path) ?? { error: { message: 'no such object' } })
  })
  stack = await startStack(upstream.url)
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`submitter ${number}`)
})

async function ask(method: string, path: string, body?: object, to = stack): Promise<Response> {
  return await fetch(to.url + path, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

/** A batch reserves 1 USD. */
async function submit(
  to = stack,
): Promise<{ readonly status: number; readonly id: string; readonly error: unknown }> {
  const answer = await ask('POST', '/v1/batches', { input_file_id: 'file-1', endpoint: '/v1/responses' }, to)
  const { id = '', error } = (await answer.json()) as { readonly id?: string; readonly error?: unknown }
  return { status: answer.status, id, error }
}

async function setBudget(usd: number): Promise<void> {
  const amount = BigInt(usd * 1e12)
  const scope = { clientId: client.id, keyId: null, model: null }
  await setLimits(stack.pool, scope, [{ kind: 'budget', per: 'day', isSoft: false, amount }], 'test')
  await expect.poll(shown).toHaveLength(1)
}

async function shown(): Promise<readonly Record<string, unknown>[]> {
  const { limits: listed } = await stack.usage(client, '?include=limits')
  if (listed === undefined) throw new Error('the usage has no limits')
  return listed
}

test('submitted jobs hold a budget, and more are refused with what is spent untouched', async () => {
  await setBudget(2.5)
  const statuses: number[] = []
  for (let calls = 0; calls < 6; calls += 1) statuses.push((await submit()).status)
  expect(statuses).toEqual([200, 200, 429, 429, 429, 429])
  expect((await submit()).error).toMatchObject({
    code: 'rate_limit_exceeded',
    message: expect.stringContaining(
      'Jobs whose cost is not known yet hold the rest of the budget of 2.5 USD',
    ),
  })
  expect(await shown()).toMatchObject([{ limit_usd: 2.5, spent_usd: 0, left_usd: 2.5 }])
})

test('they hold it where a new gateway starts and Redis has lost everything', async () => {
  await setBudget(1.5)
  expect((await submit()).status).toBe(200)
  await stack.usageOf(client, 1)
  // Another prefix: nothing of what the first gateway has reported.
  const next = await startStack(upstream.url, { databaseUrl: stack.env.DATABASE_URL ?? '', workers: false })
  try {
    // 503 as long as it does not know what is held.
    await expect.poll(async () => (await submit(next)).status).toBe(429)
  } finally {
    await next.stop()
  }
})

test.each([
  ['has failed', { status: 'failed' }],
  [
    'was fetched with its usage',
    {
      status: 'completed',
      model: 'gpt-4o-mini',
      usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
    },
  ],
])('a job that %s holds nothing any more', async (_, document) => {
  await setBudget(1.5)
  const { id } = await submit()
  expect((await submit()).status).toBe(429)
  answers.set(`/v1/batches/${id}`, { id, object: 'batch', ...document })
  const ended = await ask('GET', `/v1/batches/${id}`)
  expect(ended.status).toBe(200)
  await ended.arrayBuffer()
  await expect.poll(async () => (await submit()).status, { interval: 500 }).toBe(200)
})

test('a job that was deleted before it reported its use is charged what it reserved', async () => {
  await setBudget(1.5)
  for (let jobs = 0; jobs < 2; jobs += 1) {
    // What is left after the first is less than a job reserves: the second runs alone, once it is known.
    let id = ''
    const submitted = async () => {
      const { status, id: made } = await submit()
      id = made
      return status
    }
    await expect.poll(submitted).toBe(200)
    await (await ask('DELETE', `/v1/batches/${id}`)).arrayBuffer()
    const charged = async () => (await shown())[0]?.charged_usd
    await expect.poll(charged).toBe(1 + jobs)
  }
  await expect
    .poll(async () => (await submit()).error, { interval: 500 })
    .toMatchObject({ code: 'budget_exceeded' })
  expect(await shown()).toMatchObject([{ spent_usd: 2, charged_usd: 2, left_usd: 0 }])
})

test('a response in the background reserves what it may cost', async () => {
  await setBudget(1)
  const begin = () =>
    ask('POST', '/v1/responses', {
      model: 'gpt-4o',
      input: 'hi',
      background: true,
      max_output_tokens: 40_000,
    })
  const statuses: number[] = []
  for (let calls = 0; calls < 4; calls += 1) {
    const answer = await begin()
    await answer.arrayBuffer()
    statuses.push(answer.status)
  }
  // 40,000 tokens at 10 USD a million.
  expect(statuses).toEqual([200, 200, 429, 429])
})
