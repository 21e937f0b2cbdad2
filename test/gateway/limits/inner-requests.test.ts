import { afterAll, beforeAll, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url, { env: { UPSTREAM_PROVIDER: 'perplexity' } })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

const request = (max_tokens: number) => ({ model: 'sonar', messages: [], max_tokens })

// docs.perplexity.ai, "Create Async Chat Completion".
test.each([
  ['as little as its request asks for', { request: request(10) }, 200],
  ['as much as its request asks for', { request: request(100_000) }, 429],
  ['that, and not what stands beside the request', { max_tokens: 10, request: request(100_000) }, 429],
])('a call for later keeps of a hard budget %s', async (what, first, status) => {
  let made = 0
  upstream.answer((_request, response) => {
    made += 1
    json(response, 200, {
      id: `later-${what.length}-${made}`,
      model: 'sonar',
      status: 'CREATED',
      response: null,
    })
  })
  const client = await stack.addClient(`later ${what.length}`)
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 50_000_000_000n } as const
  await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, [order], 'test')
  await expect.poll(async () => (await stack.usage(client, '?include=limits')).limits?.length).toBe(1)
  const ask = async (body: object) => {
    const answer = await fetch(`${stack.url}/async/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    await answer.arrayBuffer()
    return answer.status
  }
  expect(await ask(first)).toBe(200)
  expect(await ask({ request: request(10) })).toBe(status)
})
