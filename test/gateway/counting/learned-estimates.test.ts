import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LearnedRatios } from '../../../src/gateway/estimation/learning/learned-ratios.ts'
import { addRatios, selectRatios } from '../../../src/gateway/estimation/learning/share-ratios.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'

// An upstream whose tokenizer makes twice as much of a text as ours, and that does not always say so.

let upstream: Server
let stack: TestStack

const WORDS = 'The quick brown fox jumps over the lazy dog. '.repeat(60)
const PROMPT_TOKENS = 1_220
const ANSWER = 'A slow red hen walks under an eager cat. '.repeat(10)
const ANSWER_TOKENS = 204

beforeAll(async () => {
  upstream = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { model, user } = JSON.parse(body || '{}')
    const usage = { prompt_tokens: PROMPT_TOKENS, completion_tokens: ANSWER_TOKENS, total_tokens: 1_424 }
    const choices = [{ index: 0, message: { role: 'assistant', content: ANSWER }, finish_reason: 'stop' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ model, choices, ...(user === 'silent' ? {} : { usage }) }))
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const { port } = upstream.address() as AddressInfo
  stack = await startStack(`http://127.0.0.1:${port}`, { env: { UPSTREAM_PROVIDER: 'openai-compatible' } })
})
afterAll(async () => {
  await stack.stop()
  upstream.closeAllConnections()
  upstream.close()
})

test('calls that report their usage correct the estimates of those that do not', async () => {
  const client = await stack.addClient('acme')
  const call = async (user: string) => {
    const answer = await fetch(`${stack.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'llama-3-made', user, messages: [{ role: 'user', content: WORDS }] }),
    })
    expect(answer.status).toBe(200)
    await answer.arrayBuffer()
  }
  const lastCall = async (calls: number) => {
    await stack.usageOf(client, calls)
    return (await stack.calls(client)).at(-1)
  }
  await call('silent')
  const before = await lastCall(1)
  expect(before).toMatchObject({ usage_source: 'estimated' })
  expect(Number(before?.input_tokens) / PROMPT_TOKENS).toBeLessThan(0.6)
  expect(Number(before?.output_tokens) / ANSWER_TOKENS).toBeLessThan(0.6)

  let calls = 1
  let share = 0
  // What is measured is counted behind the answers, so the last calls may not be in it yet.
  await expect
    .poll(async () => {
      for (let call_ = 0; call_ < 10; call_++) await call('tells')
      await call('silent')
      calls += 11
      const last = await lastCall(calls)
      expect(last).toMatchObject({ usage_source: 'estimated' })
      share = Math.min(
        Number(last?.input_tokens) / PROMPT_TOKENS,
        Number(last?.output_tokens) / ANSWER_TOKENS,
      )
      return share
    })
    .toBeGreaterThan(0.95)
  expect(share).toBeLessThan(1.05)
})

test('what gateways learned is averaged by calls in Postgres, and a gateway that starts has it', async () => {
  const { pool } = stack
  const of = { clientId: 'shared', model: 'made-model', kind: 'plain' as const }
  await addRatios(pool, [{ ...of, calls: 30, logRatio: 0.2 }])
  await addRatios(pool, [{ ...of, calls: 10, logRatio: 0.6 }])
  await addRatios(pool, [])
  const started = new LearnedRatios()
  started.replace(await selectRatios(pool))
  expect(started.ratioOf(of)).toBeCloseTo(Math.exp((0.3 * 40) / 43), 9)
})
