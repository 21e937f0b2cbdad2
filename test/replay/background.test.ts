import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadGatewayConfig } from '../../src/config/config.ts'
import { type RunningGateway, runGateway } from '../../src/gateway/run-gateway.ts'
import { createLog } from '../../src/lib/log.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../support/upstream.ts'

const USAGE = {
  input_tokens: 1000,
  input_tokens_details: { cached_tokens: 600 },
  output_tokens: 200,
  output_tokens_details: { reasoning_tokens: 128 },
  total_tokens: 1200,
}
/** Polls of a response before it is done. */
const POLLS_UNTIL_DONE = 3

let upstream: TestUpstream
let stack: TestStack
let second: RunningGateway
let secondJournalDir: string
let client: TestClient
let bases: readonly string[]
const polls = new Map<string, number>()
let created = 0

beforeAll(async () => {
  upstream = await startUpstream((request, response) => {
    if (request.method === 'POST' && request.url === '/v1/responses') {
      created += 1
      json(response, 200, responseWith(`resp_${created}`, 'queued', null))
      return
    }
    const id = request.url.split('/').at(-1) ?? ''
    const polled = (polls.get(id) ?? 0) + 1
    polls.set(id, polled)
    if (polled > POLLS_UNTIL_DONE) json(response, 200, responseWith(id, 'completed', USAGE))
    else json(response, 200, responseWith(id, 'in_progress', null))
  })
  stack = await startStack(upstream.url)
  secondJournalDir = await mkdtemp(join(tmpdir(), 'tallygate-test-journal-'))
  const config = loadGatewayConfig({ ...stack.env, JOURNAL_DIR: secondJournalDir })
  second = await runGateway(config, createLog('silent', 'test'))
  client = await stack.addClient('patient')
  bases = [stack.url, `http://127.0.0.1:${second.address.port}`]
})

afterAll(async () => {
  await second?.stop()
  await stack?.stop()
  await upstream?.close()
  await rm(secondJournalDir, { recursive: true, force: true })
})

function responseWith(id: string, status: string, usage: object | null): object {
  return { id, object: 'response', background: true, status, model: 'gpt-4o-mini', output: [], usage }
}

async function ask(gateway: number, path: string, body?: object): Promise<{ id: string; status: string }> {
  const answer = await fetch(`${bases[gateway % bases.length]}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  expect(answer.status).toBe(200)
  const { id, status }: { id?: unknown; status?: unknown } = Object(await answer.json())
  return { id: `${id}`, status: `${status}` }
}

test('background responses polled through two gateways, also when they are done, are counted once each', async () => {
  const responses = 4
  const pollsEach = 8
  const started = await Promise.all(
    Array.from({ length: responses }, (_, index) =>
      ask(index, '/v1/responses', { model: 'gpt-4o-mini', input: 'Think.', background: true }),
    ),
  )
  expect(started.map(({ status }) => status)).toEqual(started.map(() => 'queued'))
  for (const { id } of started) {
    for (let poll = 0; poll < POLLS_UNTIL_DONE; poll += 1) await ask(poll, `/v1/responses/${id}`)
    // Done by now: both gateways fetch it at once, several times.
    const done = await Promise.all(
      Array.from({ length: pollsEach - POLLS_UNTIL_DONE }, (_, poll) => ask(poll, `/v1/responses/${id}`)),
    )
    expect(done.map(({ status }) => status)).toEqual(done.map(() => 'completed'))
  }

  const requests = responses * (1 + pollsEach)
  const summary = await stack.usageOf(client, requests)
  expect(summary).toMatchObject({ input_tokens: responses * 1000, output_tokens: responses * 200 })
  // gpt-4o-mini: 0.15, cached 0.075 and 0.60 USD per million tokens.
  expect(summary.cost_usd).toBe((responses * (400 * 150 + 600 * 75 + 200 * 600)) / 1e9)

  const rows = await stack.calls(client)
  const calls = rows.filter(({ told_by }) => told_by === null)
  expect(calls).toHaveLength(requests)
  const counted = rows.filter(({ input_tokens }) => input_tokens !== null)
  expect(new Set(counted.map(({ response_id }) => response_id)).size).toBe(responses)
  expect(counted).toHaveLength(responses)
  for (const call of counted)
    expect(call).toMatchObject({
      usage_source: 'reported',
      cache_read_tokens: '600',
      reasoning_tokens: '128',
      settles: calls.find(({ method, response_id }) => method === 'POST' && response_id === call.response_id)
        ?.call_id,
    })
  for (const call of calls)
    expect(call).toMatchObject(
      call.method === 'POST'
        ? { usage_source: 'none', cost_pico: null, unpriced_reason: 'billed_later', settled: true }
        : { usage_source: 'none', cost_pico: '0', unpriced_reason: null },
    )
})
