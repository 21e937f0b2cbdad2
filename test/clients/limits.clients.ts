import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { type LimitOrder, setLimits } from '../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { chatAnswer, json, startUpstream, type TestUpstream } from '../support/upstream.ts'

/** Long enough that a second call meets the first one, and shorter than it waits before it tries again. */
const SLOW_MS = 700
const MESSAGES = [{ role: 'user' as const, content: 'Does the meter run?' }]
const CONCURRENT: LimitOrder = { kind: 'concurrent', per: null, isSoft: false, amount: 1n }
/** Less than any call costs, so that one is admitted and no other. */
const BUDGET: LimitOrder = { kind: 'budget', per: 'day', isSoft: false, amount: 1_000n }

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let number = 0
/** Each request that the client's library sends, with when it did. */
let sent: { readonly atMs: number; readonly status: number }[] = []

beforeAll(async () => {
  upstream = await startUpstream(async (request, response) => {
    if (request.body.includes('slowly')) await new Promise((resolve) => setTimeout(resolve, SLOW_MS))
    if (request.url.endsWith('/messages')) json(response, 200, MESSAGE)
    else await chatAnswer(request, response)
  })
  stack = await startStack(upstream.url)
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`limited ${number}`)
  sent = []
})

const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'gpt-4o-mini',
  content: [{ type: 'text', text: 'Hello.' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 11, output_tokens: 7 },
}

/** `fetch` as the clients' libraries call it, counted. */
const counting: typeof fetch = async (input, init) => {
  const atMs = performance.now()
  const answer = await fetch(input, init)
  sent.push({ atMs, status: answer.status })
  return answer
}

async function limit(order: LimitOrder): Promise<void> {
  await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'test')
  // Until the gateway knows it: it shows a client its own limits as it holds them.
  await expect
    .poll(async () => {
      const shown = await fetch(`${stack.url}/v1/usage?include=limits`, {
        headers: { authorization: `Bearer ${client.key}` },
      })
      return ((await shown.json()) as { limits: unknown[] }).limits.length
    })
    .toBe(1)
}

const openai = (maxRetries: number) =>
  new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: client.key, maxRetries, fetch: counting })
const anthropic = (maxRetries: number) =>
  new Anthropic({ baseURL: stack.url, apiKey: client.key, maxRetries, fetch: counting })

const askOpenAi = (content: string) =>
  openai(2).chat.completions.create({
    model: 'gpt-4o-mini',
    max_tokens: 10,
    messages: [{ role: 'user', content }],
  })
const askAnthropic = (content: string) =>
  anthropic(2).messages.create({
    model: 'gpt-4o-mini',
    max_tokens: 10,
    messages: [{ role: 'user', content }],
  })

const LIBRARIES = [
  ['openai', askOpenAi],
  ['anthropic', askAnthropic],
] as const

test.each(
  LIBRARIES,
)('%s: a call that is rate limited is tried again after the time that the answer says, and succeeds', async (_name, ask) => {
  await limit(CONCURRENT)
  const slow = ask('slowly')
  await expect.poll(() => upstream.requests.at(-1)?.body.includes('slowly')).toBe(true)
  const before = upstream.requests.length
  const [first, second] = await Promise.all([slow, ask('at once')])
  expect([first, second]).toHaveLength(2)
  expect(sent.map(({ status }) => status).sort()).toEqual([200, 200, 429])
  const [, refused, again] = sent.toSorted((a, b) => a.atMs - b.atMs)
  // `retry-after: 1`.
  expect((again?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(990)
  expect(upstream.requests).toHaveLength(before + 1)
})

test.each(LIBRARIES)('%s: a spent budget is an error at once, and is not tried again', async (_name, ask) => {
  await limit(BUDGET)
  await ask('once')
  const before = upstream.requests.length
  await expect(ask('once more')).rejects.toMatchObject({ status: 429 })
  expect(sent.map(({ status }) => status)).toEqual([200, 429])
  expect(upstream.requests).toHaveLength(before)
  const raw = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}` },
    body: JSON.stringify({ model: 'gpt-4o-mini', max_tokens: 1, messages: MESSAGES }),
  })
  expect(raw.headers.get('x-should-retry')).toBe('false')
  expect(await raw.json()).toMatchObject({ error: { code: 'budget_exceeded' } })
})
