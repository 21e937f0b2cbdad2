import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { startPrivateRedis, type TestServer } from '../../support/servers/servers.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { chatAnswer, startUpstream, type TestUpstream } from '../../support/upstream.ts'

/** Room for a few records. */
const CAP = '4000'
const CALLS = 30

let redis: TestServer
let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  redis = await startPrivateRedis()
})

beforeEach(() => redis.kill())

afterEach(() => stack?.stop())

afterAll(async () => {
  await upstream?.close()
  await redis?.stop()
})

async function startFilling(env: Readonly<Record<string, string>>): Promise<void> {
  stack = await startStack(upstream.url, {
    redisUrl: redis.url,
    env: { JOURNAL_MAX_BYTES: CAP, ...env },
  })
  client = await stack.addClient('busy')
  await expect.poll(() => chat()).toBe(200)
}

async function chat(): Promise<number> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: '{"model":"gpt-4o-mini","messages":[]}',
  })
  const { error } = (await answer.json()) as { error?: { code: string } }
  if (error !== undefined) expect(error.code).toBe('metering_unavailable')
  return answer.status
}

async function chats(count: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  for (let n = 0; n < count; n += 1) {
    const status = await chat()
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return statuses
}

async function readiness(): Promise<unknown> {
  const answer = await fetch(`${stack.url}/readyz`)
  return [answer.status, await answer.json()]
}

async function unmeteredCalls(): Promise<number> {
  const { port } = stack.gateway.adminAddress
  const metrics = await fetch(`http://127.0.0.1:${port}/metrics`).then((answer) => answer.text())
  return Number(/^tallygate_unmetered_calls_total (\d+)$/m.exec(metrics)?.[1])
}

test('a journal at its cap refuses calls before they go upstream, and takes them again by itself', async () => {
  await startFilling({})
  const before = upstream.requests.length
  const { 200: passed = 0, 503: refused = 0 } = await chats(CALLS)
  expect(passed + refused).toBe(CALLS)
  expect(refused).toBeGreaterThan(20)
  expect(upstream.requests.length - before).toBe(passed)
  expect(await readiness()).toEqual([
    503,
    { status: 'unavailable', degraded: expect.arrayContaining(['redis', 'journal']) },
  ])
  expect(await unmeteredCalls()).toBe(0)

  await redis.start()
  expect(await stack.usageOf(client, passed + 1)).toMatchObject({ client: 'busy' })
  await expect.poll(chat).toBe(200)
  await stack.usageOf(client, passed + 2)
})

test('set to pass unmetered, it answers every call, and says of each that it was not counted', async () => {
  await startFilling({ ON_JOURNAL_FULL: 'unmetered' })
  expect(await chats(CALLS)).toEqual({ 200: CALLS })
  expect(await readiness()).toEqual([
    200,
    { status: 'ready', degraded: expect.arrayContaining(['redis', 'journal']) },
  ])
  const unmetered = await unmeteredCalls()
  expect(unmetered).toBeGreaterThan(20)

  await redis.start()
  const counted = CALLS + 1 - unmetered
  await stack.usageOf(client, counted)
  await expect.poll(readiness).toEqual([200, { status: 'ready', degraded: [] }])
  expect(await chats(5)).toEqual({ 200: 5 })
  await stack.usageOf(client, counted + 5)
  expect(await unmeteredCalls()).toBe(unmetered)
})

test('a call that began unmetered and ends when the journal takes records again is recorded, once', async () => {
  await startFilling({ ON_JOURNAL_FULL: 'unmetered' })
  await chats(CALLS)
  const unmetered = await unmeteredCalls()
  const counted = CALLS + 1 - unmetered
  const arrived = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  upstream.answer(async (request, response) => {
    arrived.resolve()
    await release.promise
    await chatAnswer(request, response)
  })
  const late = chat()
  await arrived.promise
  await redis.start()
  await stack.usageOf(client, counted)
  await expect.poll(readiness).toEqual([200, { status: 'ready', degraded: [] }])
  release.resolve()
  expect(await late).toBe(200)
  await stack.usageOf(client, counted + 1)
  expect(await unmeteredCalls()).toBe(unmetered)
})
