import Anthropic, { APIError, AuthenticationError, PermissionDeniedError } from '@anthropic-ai/sdk'
import type { LLMock } from '@copilotkit/aimock'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { REPORTED, startAimock } from './aimock.ts'

let mock: LLMock
let stack: TestStack
let client: TestClient
let anthropic: Anthropic
let number = 0

beforeAll(async () => {
  mock = await startAimock()
  stack = await startStack(mock.url, { env: { UPSTREAM_PROVIDER: 'anthropic', UPSTREAM_API_KEY: 'sk-mock' } })
})

afterAll(async () => {
  await stack?.stop()
  await mock?.stop()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`anthropic ${number}`)
  anthropic = new Anthropic({ baseURL: stack.url, apiKey: client.key, maxRetries: 0 })
})

const PARAMS = {
  model: 'claude-haiku-4-5',
  max_tokens: 100,
  messages: [{ role: 'user' as const, content: 'Does the meter run?' }],
}
const USAGE = { input_tokens: REPORTED.input, output_tokens: REPORTED.output }

async function expectCounted(calls: number): Promise<void> {
  expect(await stack.usageOf(client, calls)).toMatchObject({
    input_tokens: calls * REPORTED.input,
    output_tokens: calls * REPORTED.output,
    // claude-haiku-4-5: 1 and 5 USD per million tokens.
    cost_usd: (calls * (REPORTED.input * 1_000 + REPORTED.output * 5_000)) / 1e9,
  })
  for (const call of await stack.calls(client)) {
    expect(call).toMatchObject({ path: '/v1/messages', outcome: 'complete', usage_source: 'reported' })
  }
}

test('the SDK gets a message through the gateway', async () => {
  const message = await anthropic.messages.create(PARAMS)
  expect(message.content).toMatchObject([{ type: 'text', text: expect.stringContaining('exactly once') }])
  expect(message.usage).toMatchObject(USAGE)
  await expectCounted(1)
})

test('the SDK gets a streamed message event by event', async () => {
  const stream = await anthropic.messages.create({ ...PARAMS, stream: true })
  const types = new Set<string>()
  let text = ''
  for await (const event of stream) {
    types.add(event.type)
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
  }
  expect(text).toContain('exactly once')
  expect([...types]).toEqual(expect.arrayContaining(['message_start', 'message_delta', 'message_stop']))
  await expectCounted(1)
})

test("the SDK's own stream reader puts the message together", async () => {
  const message = await anthropic.messages.stream(PARAMS).finalMessage()
  expect(message.usage).toMatchObject(USAGE)
  expect(message.content).toMatchObject([{ type: 'text', text: expect.stringContaining('exactly once') }])
  await expectCounted(1)
})

test('the SDK may send a bearer token in place of the key', async () => {
  const bearer = new Anthropic({ baseURL: stack.url, apiKey: null, authToken: client.key, maxRetries: 0 })
  expect((await bearer.messages.create(PARAMS)).usage).toMatchObject(USAGE)
  await expectCounted(1)
})

test("the gateway's errors are the SDK's own classes, in Anthropic's shape", async () => {
  const otherClient = new Anthropic({ baseURL: stack.url, apiKey: 'sk-wrong', maxRetries: 0 })
  const refused = await otherClient.messages.create(PARAMS).catch((error) => error)
  expect(refused).toBeInstanceOf(AuthenticationError)
  expect(refused).toMatchObject({
    status: 401,
    error: { type: 'error', error: { type: 'authentication_error', message: expect.any(String) } },
  })

  const { key } = await stack.addClient('narrow', { models: ['claude-opus-*'] })
  const narrow = new Anthropic({ baseURL: stack.url, apiKey: key, maxRetries: 0 })
  const forbidden = await narrow.messages.create(PARAMS).catch((error) => error)
  expect(forbidden).toBeInstanceOf(PermissionDeniedError)
  expect(forbidden).toMatchObject({ error: { type: 'error', error: { type: 'permission_error' } } })
})

test("the upstream's errors reach the SDK as they are, and the call is counted without tokens", async () => {
  mock.nextRequestError(529, { message: 'Overloaded', type: 'overloaded_error' })
  const overloaded = await anthropic.messages.create(PARAMS).catch((error) => error)
  expect(overloaded).toBeInstanceOf(APIError)
  expect(overloaded).toMatchObject({ status: 529 })
  expect(await stack.usageOf(client, 1)).toMatchObject({ total_tokens: 0, cost_usd: 0 })
})
