import type { LLMock } from '@copilotkit/aimock'
import OpenAI, { APIError, AuthenticationError, NotFoundError, toFile } from 'openai'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { REPORTED, startAimock } from './aimock.ts'

let mock: LLMock
let stack: TestStack
let client: TestClient
let openai: OpenAI
let number = 0

beforeAll(async () => {
  mock = await startAimock()
  stack = await startStack(mock.url, { env: { UPSTREAM_API_KEY: 'sk-mock' } })
})

afterAll(async () => {
  await stack?.stop()
  await mock?.stop()
})

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`openai ${number}`)
  openai = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: client.key, maxRetries: 0 })
})

const MESSAGES = [{ role: 'user' as const, content: 'Does the meter run?' }]
const MODEL = 'gpt-4o-mini'

/** The client's usage is this many calls with the mock's figures, and so is each record. */
async function expectCounted(calls: number, path: string): Promise<void> {
  expect(await stack.usageOf(client, calls)).toMatchObject({
    input_tokens: calls * REPORTED.input,
    output_tokens: calls * REPORTED.output,
    total_tokens: calls * (REPORTED.input + REPORTED.output),
    // gpt-4o-mini: 0.15 and 0.60 USD per million tokens.
    cost_usd: (calls * (REPORTED.input * 150 + REPORTED.output * 600)) / 1e9,
  })
  for (const call of await stack.calls(client)) {
    expect(call).toMatchObject({
      path,
      outcome: 'complete',
      usage_source: 'reported',
      requested_model: MODEL,
    })
  }
}

test('models.list() and models.retrieve() give the gateway’s models', async () => {
  const ids: string[] = []
  for await (const model of openai.models.list()) {
    expect(Object.keys(model).sort()).toEqual(expect.arrayContaining(['id', 'object', 'owned_by']))
    ids.push(model.id)
  }
  expect(ids.length).toBeGreaterThan(0)
  expect(await openai.models.retrieve(ids[0] ?? '')).toMatchObject({ id: ids[0], object: 'model' })
  await expect(openai.models.retrieve('no-such-model')).rejects.toBeInstanceOf(NotFoundError)
  expect(await stack.usage(client)).toMatchObject({ requests: 0 })
})

test('the SDK gets a chat completion through the gateway', async () => {
  const answer = await openai.chat.completions.create({ model: MODEL, messages: MESSAGES })
  expect(answer.choices[0]?.message.content).toContain('exactly once')
  expect(answer.usage).toMatchObject({ prompt_tokens: REPORTED.input, completion_tokens: REPORTED.output })
  await expectCounted(1, '/v1/chat/completions')
})

test('a streamed chat completion that did not ask for usage sees none, and is counted', async () => {
  const stream = await openai.chat.completions.create({ model: MODEL, messages: MESSAGES, stream: true })
  let text = ''
  for await (const chunk of stream) {
    expect(chunk.choices).toHaveLength(1)
    expect(chunk.usage ?? null).toBeNull()
    text += chunk.choices[0]?.delta.content ?? ''
  }
  expect(text).toContain('exactly once')
  await expectCounted(1, '/v1/chat/completions')
})

test('a streamed chat completion that asked for usage gets it', async () => {
  const stream = await openai.chat.completions.create({
    model: MODEL,
    messages: MESSAGES,
    stream: true,
    stream_options: { include_usage: true },
  })
  const usages = []
  for await (const chunk of stream) if (chunk.usage) usages.push(chunk.usage)
  expect(usages).toMatchObject([{ prompt_tokens: REPORTED.input, completion_tokens: REPORTED.output }])
  await expectCounted(1, '/v1/chat/completions')
})

test("the SDK's own stream reader reads a stream to its end", async () => {
  const stream = openai.chat.completions.stream({ model: MODEL, messages: MESSAGES })
  const final = await stream.finalChatCompletion()
  expect(final.choices[0]?.message.content).toContain('exactly once')
  await expectCounted(1, '/v1/chat/completions')
})

test('the SDK gets embeddings through the gateway', async () => {
  const answer = await openai.embeddings.create({ model: 'text-embedding-3-small', input: ['one', 'two'] })
  expect(answer.data).toHaveLength(2)
  expect(answer.usage.prompt_tokens).toBe(REPORTED.input)
  expect(answer.data[0]?.embedding.length).toBeGreaterThan(10)
  expect(await stack.usageOf(client, 1)).toMatchObject({
    input_tokens: REPORTED.input,
    output_tokens: 0,
  })
  expect(await stack.calls(client)).toMatchObject([{ path: '/v1/embeddings', usage_source: 'reported' }])
})

test('the SDK gets a response and a streamed response through the gateway', async () => {
  const answer = await openai.responses.create({ model: MODEL, input: 'Does the meter run?' })
  expect(answer.output_text).toContain('exactly once')
  expect(answer.usage).toMatchObject({ input_tokens: REPORTED.input, output_tokens: REPORTED.output })
  const stream = await openai.responses.create({ model: MODEL, input: 'Does the meter run?', stream: true })
  let text = ''
  let completed = 0
  for await (const event of stream) {
    if (event.type === 'response.output_text.delta') text += event.delta
    if (event.type === 'response.completed') completed += 1
  }
  expect(text).toContain('exactly once')
  expect(completed).toBe(1)
  await expectCounted(2, '/v1/responses')
})

test('a transcription has its model and its price', async () => {
  const answer = await openai.audio.transcriptions.create({
    model: 'whisper-1',
    file: await toFile(Buffer.alloc(200_000), 'four-seconds.wav'),
  })
  expect(answer.text).not.toBe('')
  await stack.usageOf(client, 1)
  const [call] = await stack.calls(client)
  expect(call).toMatchObject({ path: '/v1/audio/transcriptions', requested_model: 'whisper-1', status: 200 })
  // 0.006 USD per minute.
  expect(call).toMatchObject({ audio_ms: '4000', cost_pico: '400000000' })
})

test('an edit of an image has its model and its price', async () => {
  const answer = await openai.images.edit({
    model: 'gpt-image-1',
    image: await toFile(Buffer.alloc(200_000), 'cat.png', { type: 'image/png' }),
    prompt: 'A cat with a hat.',
  })
  expect(answer.data?.length).toBeGreaterThan(0)
  await stack.usageOf(client, 1)
  const [call] = await stack.calls(client)
  expect(call).toMatchObject({ path: '/v1/images/edits', requested_model: 'gpt-image-1', status: 200 })
  expect(Number(call?.cost_pico)).toBeGreaterThan(0)
})

test('a key for some models may transcribe with them and not with others', async () => {
  const { key } = await stack.addClient('dictation', { models: ['whisper-1'] })
  const narrow = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: key, maxRetries: 0 })
  const file = await toFile(Buffer.alloc(200_000), 'a.wav')
  const answer = await narrow.audio.transcriptions.create({ model: 'whisper-1', file })
  expect(answer.text).not.toBe('')
  await expect(
    narrow.audio.transcriptions.create({ model: 'gpt-4o-transcribe', file }),
  ).rejects.toMatchObject({ status: 403, code: 'model_not_allowed' })
})

test("the gateway's errors are the SDK's own classes", async () => {
  const otherClient = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: 'sk-wrong', maxRetries: 0 })
  const refused = await otherClient.chat.completions
    .create({ model: MODEL, messages: MESSAGES })
    .catch((e) => e)
  expect(refused).toBeInstanceOf(AuthenticationError)
  expect(refused).toMatchObject({ status: 401, code: 'invalid_api_key', type: 'authentication_error' })

  const { key } = await stack.addClient('narrow', { models: ['gpt-4o'] })
  const narrow = new OpenAI({ baseURL: `${stack.url}/v1`, apiKey: key, maxRetries: 0 })
  const forbidden = await narrow.chat.completions.create({ model: MODEL, messages: MESSAGES }).catch((e) => e)
  expect(forbidden).toBeInstanceOf(APIError)
  expect(forbidden).toMatchObject({ status: 403, code: 'model_not_allowed', type: 'permission_error' })
})

test("the upstream's errors reach the SDK as they are, and the call is counted without tokens", async () => {
  mock.nextRequestError(429, { message: 'Slow down.', type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  const limited = await openai.chat.completions.create({ model: MODEL, messages: MESSAGES }).catch((e) => e)
  expect(limited).toMatchObject({ status: 429, code: 'rate_limit_exceeded' })
  expect(await stack.usageOf(client, 1)).toMatchObject({ total_tokens: 0, cost_usd: 0 })
})

test('a stream that the client breaks off is counted once and said to be so', async () => {
  const stream = await openai.chat.completions.create({ model: MODEL, messages: MESSAGES, stream: true })
  for await (const _ of stream) break
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toHaveLength(1)
})
