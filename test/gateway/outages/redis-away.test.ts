import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let redis: TestServer
let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  redis = await startPrivateRedis()
  await redis.kill()
  // Absent at the start.
  stack = await startStack(upstream.url, { redisUrl: redis.url })
  client = await stack.addClient('patient')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await redis?.stop()
})

async function chat(): Promise<number> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: '{"model":"gpt-4o-mini","messages":[]}',
  })
  await answer.arrayBuffer()
  return answer.status
}

async function readiness(): Promise<unknown> {
  const answer = await fetch(`${stack.url}/readyz`)
  return [answer.status, await answer.json()]
}

test('with Redis absent at start, calls are taken and kept, the state is reported, and all are counted once Redis is there', async () => {
  await expect.poll(chat).toBe(200)
  for (let n = 1; n < 5; n += 1) expect(await chat()).toBe(200)
  expect(await readiness()).toEqual([200, { status: 'ready', degraded: ['redis'] }])
  expect(await stack.usage(client)).toMatchObject({ requests: 0 })

  await redis.start()
  expect(await stack.usageOf(client, 5)).toMatchObject({ input_tokens: 55, output_tokens: 35 })
  await expect.poll(readiness).toEqual([200, { status: 'ready', degraded: [] }])
})

test('with Redis killed while running, with all it held, nothing is lost or doubled', async () => {
  const calls = Array.from({ length: 20 }, chat)
  await redis.kill()
  expect(await Promise.all(calls)).toEqual(Array(20).fill(200))
  for (let n = 0; n < 5; n += 1) expect(await chat()).toBe(200)
  await redis.start()
  expect(await stack.usageOf(client, 30)).toMatchObject({ input_tokens: 330, output_tokens: 210 })
  expect(await stack.calls(client)).toHaveLength(30)
})
