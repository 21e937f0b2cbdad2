import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestStack } from '../support/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
})
afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

test('calls whose answers all have one id are each counted, and found by it', async () => {
  const client = await stack.addClient('c1')
  for (const stream of [false, true, false]) {
    const answer = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'gpt-4o-mini', messages: [], stream }),
    })
    await answer.text()
  }
  expect(await stack.usageOf(client, 3)).toMatchObject({ input_tokens: 33, output_tokens: 21 })
  const ids = async () => (await stack.calls(client)).map((call) => call.response_id)
  await expect.poll(ids, { timeout: 10_000 }).toEqual(['chatcmpl-1', 'chatcmpl-1', 'chatcmpl-1'])
})
