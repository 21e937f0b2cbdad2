import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { type RunningGateway, runGateway } from '../../../src/gateway/run-gateway.ts'
import { createLog } from '../../../src/lib/log.ts'
import { startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let redis: TestServer
let stack: TestStack
let second: RunningGateway
let urls: readonly [string, string]
let client: TestClient
let made = 0

beforeAll(async () => {
  ;[upstream, redis] = await Promise.all([startUpstream(), startPrivateRedis()])
  stack = await startStack(upstream.url, { redisUrl: redis.url, env: { STREAM_SHARDS: '2' } })
  second = await runGateway(loadGatewayConfig(stack.env), createLog('silent', 'test'))
  urls = [stack.url, `http://127.0.0.1:${second.address.port}`]
  client = await stack.addClient('wandering')
  const patience = { interval: 50 }
  await vi.waitFor(async () => expect((await call(1)).status).toBe(200), patience) // it knows the key
  await vi.waitFor(async () => expect((await ask(0)).isWhole).toBe(true), patience)
})
afterAll(async () => {
  await second?.stop()
  await stack?.stop()
  await redis?.stop()
  await upstream?.close()
})

async function call(at: 0 | 1): Promise<Response> {
  const answer = await fetch(`${urls[at]}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
  })
  await answer.text()
  if (answer.status === 200) made += 1
  return answer
}

async function ask(at: 0 | 1): Promise<{ requests: number; isWhole: boolean; asOf: string | null }> {
  const answer = await fetch(`${urls[at]}/v1/usage`, { headers: { authorization: `Bearer ${client.key}` } })
  // A busy machine takes longer than an answer may.
  if (answer.status === 503) return await ask(at)
  const { requests } = (await answer.json()) as { requests: number }
  const asOf = answer.headers.get('x-tallygate-as-of')
  return { requests, isWhole: asOf === null, asOf }
}

/**
 * A usage query right after these calls has them, or says that it may lack some, as where the machine is too busy for an
 * answer in time. Whether it has them.
 */
async function expectRightOrMarked(at: 0 | 1 = 1): Promise<boolean> {
  const { requests, isWhole, asOf } = await ask(at)
  expect(requests).toBeLessThanOrEqual(made)
  if (isWhole) expect(requests).toBe(made)
  else expect(Date.parse(asOf ?? '')).toBeLessThan(Date.now())
  return requests === made
}

test('a client that calls at one gateway sees the call at the other at once', async () => {
  let right = 0
  for (let round = 0; round < 40; round += 1) {
    await call(0)
    if (await expectRightOrMarked()) right += 1
  }
  expect(right).toBeGreaterThan(20)
})

test('a client that makes many calls at once, at both, sees all of them at either', async () => {
  for (let round = 0; round < 4; round += 1) {
    await Promise.all(Array.from({ length: 100 }, (_, index) => call(index % 2 === 0 ? 0 : 1)))
    await expectRightOrMarked(round % 2 === 0 ? 1 : 0)
  }
})

test('with Redis emptied, slow, or away, an answer has the calls or says that it may lack some', async () => {
  const direct = new Redis(redis.url)
  direct.on('error', () => {}) // it is killed
  try {
    await call(0)
    await direct.flushall()
    await expectRightOrMarked()
    await call(0)
    await expectRightOrMarked()
    for (let round = 0; round < 4; round += 1) {
      redis.freeze()
      const thaw = setTimeout(() => redis.thaw(), 150 * round)
      await call(0)
      await expectRightOrMarked()
      clearTimeout(thaw)
      redis.thaw()
      await expectRightOrMarked()
    }
    await redis.kill()
    await call(0)
    expect((await ask(1)).isWhole).toBe(false)
    await redis.start()
    await expectRightOrMarked()
  } finally {
    direct.disconnect()
  }
  await expect
    .poll(async () => await ask(1))
    .toMatchObject({
      requests: made,
      isWhole: true,
    })
})
