import { expect, test } from 'vitest'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import type { TestClient } from '../../support/servers/stack.ts'

let client: TestClient

const { upstream, stack } = await startOwnStack()

const WORDS = 2_000
const TEXT = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  model: 'gpt-4o-mini',
  choices: [
    { index: 0, message: { role: 'assistant', content: ' hello'.repeat(WORDS) }, finish_reason: 'stop' },
  ],
  usage: { prompt_tokens: 10, completion_tokens: WORDS, total_tokens: WORDS + 10 },
})

test.each([
  ['in UTF-16', Buffer.from(TEXT, 'utf16le')],
  ['in UTF-16 with a sign', Buffer.from(`\ufeff${TEXT}`, 'utf16le')],
  ['as JSONP', Buffer.from(`callback(${TEXT});`)],
  ['behind what keeps scripts from it', Buffer.from(`)]}'\n${TEXT}`)],
])('an answer %s is never booked below its words, and flagged unless its usage is read', async (name, body) => {
  client = await stack.addClient(name)
  upstream.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
  })
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hi' }] }),
  })
  expect(Buffer.from(await answer.arrayBuffer()).equals(body)).toBe(true)
  const { output_tokens } = await stack.usageOf(client, 1)
  const [row] = await stack.calls(client)
  expect(['estimated', 'reported']).toContain(row?.usage_source)
  expect(output_tokens).toBeGreaterThanOrEqual(WORDS)
})
