import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let clients = 0

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(async () => {
  clients += 1
  client = await stack.addClient(`doubted ${clients}`)
})

async function record(): Promise<Record<string, unknown> | undefined> {
  await stack.usageOf(client, 1)
  return (await stack.calls(client))[0]
}

async function ask(path: string, body: object): Promise<void> {
  const answer = await fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  expect(answer.status).toBe(200)
  await answer.arrayBuffer()
}

const CHAT = '/v1/chat/completions'
const HELLO = { model: 'gpt-4.1', messages: [{ role: 'user', content: 'Write a long poem about the sea.' }] }
const NOTHING = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }

function answerOf(content: string, usage: object) {
  const message = { role: 'assistant', content }
  return { model: 'gpt-4.1', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
}

test('zeros beside delivered words are not believed: the call is estimated', async () => {
  upstream.answer((_request, response) => json(response, 200, answerOf('The sea is wide and blue.', NOTHING)))
  await ask(CHAT, HELLO)
  const row = await record()
  expect(row).toMatchObject({ usage_source: 'estimated', output_tokens: '7' })
  expect(Number(row?.cost_pico)).toBeGreaterThan(7 * 8_000_000)
})

test('zeros of an answer without words stand', async () => {
  upstream.answer((_request, response) => json(response, 200, answerOf('', NOTHING)))
  await ask(CHAT, HELLO)
  expect(await record()).toMatchObject({ usage_source: 'reported', input_tokens: '0', cost_pico: '0' })
})
