import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { event, json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let folder: string
let upstream: TestUpstream
let stack: TestStack

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-cached-'))
  upstream = await startUpstream()
  const config = join(folder, 'config.yaml')
  await writeFile(
    config,
    `upstreams:
  - { name: foundry, url: '${upstream.url}', provider: azure-ai, path_prefix: /azure }
  - { name: router, url: '${upstream.url}', provider: openrouter, path_prefix: /openrouter, trust_reported_cost: false }
prices:
  - { model: grok-4-1-fast, input: '0.2', cached_input: '0.05', output: '0.5' }
  - { model: google/gemini-made, input: '0.3', cached_input: '0.03', cache_write: '0.4', output: '2.5' }
`,
  )
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: config } })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

test.each([
  [
    "Azure's Grok, which counts a preamble that is not the client's as cached",
    '/azure/v1/chat/completions',
    'grok-4-1-fast',
    {
      prompt_tokens: 7,
      completion_tokens: 1,
      total_tokens: 8,
      prompt_tokens_details: { cached_tokens: 163 },
    },
    7 * 200_000 + 500_000,
  ],
  [
    'OpenRouter, which names the same tokens as read and as written',
    '/openrouter/api/v1/chat/completions',
    'google/gemini-made',
    {
      prompt_tokens: 2_168,
      completion_tokens: 10,
      total_tokens: 2_178,
      prompt_tokens_details: { cached_tokens: 2_161, cache_write_tokens: 2_161 },
    },
    2_168 * 300_000 + 10 * 2_500_000,
  ],
] as const)('%s: all of the prompt is at the price of input, whole and streamed', async (_, path, model, usage, costPico) => {
  const client = await stack.addClient(model)
  for (const stream of [false, true]) {
    upstream.answer((_request, response) => {
      if (!stream) {
        const choices = [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }]
        json(response, 200, { model, choices, usage })
        return
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(
        event({ model, choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }] }),
      )
      response.end(`${event({ model, choices: [], usage })}data: [DONE]\n\n`)
    })
    const answer = await fetch(`${stack.url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.text()
  }
  await stack.usageOf(client, 2)
  const rows = await stack.calls(client)
  for (const row of rows) {
    expect(row).toMatchObject({
      usage_source: 'reported',
      input_tokens: `${usage.prompt_tokens}`,
      cost_pico: `${costPico}`,
      unpriced_reason: null,
    })
    expect(row.price_id).toContain('cache-not-believed')
  }
  expect(rows).toHaveLength(2)
})
