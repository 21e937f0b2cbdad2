import { expect, test } from 'vitest'
import { startOwnStack } from '../support/servers/own-stack.ts'

const { upstream, stack } = await startOwnStack({ env: { UPSTREAM_API_KEY: 'sk-upstream' } })
const client = await stack.addClient('walker')

const CHAT = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello.' }] }

async function chat(body: object): Promise<Response> {
  return await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

test('a call and a streamed call pass all stages and stand, priced, in the summary', async () => {
  const whole = await chat(CHAT)
  expect(whole.status).toBe(200)
  expect(await whole.json()).toMatchObject({ choices: [{ message: { content: 'Hello there.' } }] })
  expect(whole.headers.get('x-tallygate-call-id')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)

  const streamed = await chat({ ...CHAT, stream: true })
  const text = await streamed.text()
  expect(text).toContain('data: [DONE]')
  expect(text).not.toContain('usage')

  // The upstream got its own key and not the client's, and was asked for the stream's usage.
  expect(upstream.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer sk-upstream',
    'Bearer sk-upstream',
  ])
  expect(JSON.parse(upstream.requests[1]?.body.toString() ?? '')).toMatchObject({
    stream_options: { include_usage: true },
  })

  const summary = await stack.usageOf(client, 2)
  // gpt-4o-mini: 0.15 and 0.60 USD per million tokens.
  expect(Object.entries(summary)).toEqual([
    ['client', 'walker'],
    ['period_days', 30],
    ['requests', 2],
    ['input_tokens', 22],
    ['output_tokens', 14],
    ['total_tokens', 36],
    ['avg_latency_ms', expect.any(Number)],
    ['cost_usd', 0.0000117],
  ])
  expect(summary.avg_latency_ms).toBeGreaterThan(0)

  const calls = await stack.calls(client)
  expect(calls).toHaveLength(2)
  for (const call of calls) {
    expect(call).toMatchObject({
      requested_model: 'gpt-4o-mini',
      reported_model: 'gpt-4o-mini',
      status: 200,
      outcome: 'complete',
      usage_source: 'reported',
      input_tokens: '11',
      output_tokens: '7',
      cost_pico: '5850000',
    })
  }
})
