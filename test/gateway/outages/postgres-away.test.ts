import { afterAll, beforeAll, expect, test } from 'vitest'
import { createKey } from '../../../src/domain/api-key.ts'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { busyness } from '../../support/patience.ts'
import { startPrivatePostgres, type TestServer } from '../../support/servers/servers.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let postgres: TestServer
let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  postgres = await startPrivatePostgres({ durable: true })
  await migrate(postgres.url, { info() {}, warn() {}, error() {} })
  await postgres.kill()
  // Absent at the start.
  stack = await startStack(upstream.url, { databaseUrl: postgres.url })
})

afterAll(async () => {
  await postgres?.start().catch(() => {})
  await stack?.stop()
  await upstream?.close()
  await postgres?.stop()
})

async function ask(path: string, key: string, method = 'GET'): Promise<[number, string | null]> {
  const answer = await fetch(stack.url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(method === 'POST' ? { body: '{"model":"gpt-4o-mini","messages":[]}' } : {}),
  })
  const body: { error?: { code: string } } = Object(await answer.json())
  return [answer.status, body.error?.code ?? null]
}

const chat = (key: string) => ask('/v1/chat/completions', key, 'POST')

async function readiness(): Promise<unknown> {
  const answer = await fetch(`${stack.url}/readyz`)
  return [answer.status, await answer.json()]
}

const UNAVAILABLE = [503, 'storage_unavailable']

test('with Postgres absent at start, the process is alive and not ready, well-formed keys get 503, anything else 401', async () => {
  expect((await fetch(`${stack.url}/healthz`)).status).toBe(200)
  await expect
    .poll(readiness)
    .toEqual([503, { status: 'unavailable', degraded: expect.arrayContaining(['keys', 'postgres']) }])
  expect(await chat(createKey())).toEqual(UNAVAILABLE)
  expect(await chat('tg_no-key')).toEqual([401, 'invalid_api_key'])
  expect(upstream.requests).toEqual([])
})

test('there again: the gateway takes calls by itself', async () => {
  await postgres.start()
  client = await stack.addClient('survivor')
  await expect.poll(() => chat(client.key)).toEqual([200, null])
  expect((await stack.usageOf(client, 1)).requests).toBe(1)
  await expect.poll(readiness).toEqual([200, { status: 'ready', degraded: [] }])
})

test('with Postgres killed while running, known keys go on, unknown ones and summaries get 503, and nothing is lost', async () => {
  await postgres.kill()
  await expect.poll(() => chat(createKey())).toEqual(UNAVAILABLE)
  for (let n = 0; n < 10; n += 1) expect(await chat(client.key)).toEqual([200, null])
  expect(await ask('/v1/usage', client.key)).toEqual(UNAVAILABLE)
  expect(await ask('/v1/models', client.key)).toEqual([200, null])
  expect(await readiness()).toEqual([
    200,
    { status: 'ready', degraded: expect.arrayContaining(['postgres']) },
  ])

  await postgres.start()
  await expect.poll(() => ask('/v1/usage', client.key)).toEqual([200, null])
  expect(await stack.usageOf(client, 11)).toMatchObject({ input_tokens: 121, output_tokens: 77 })
})

test('with Postgres frozen while running, a summary is refused in time, calls go on, and nothing is lost', async () => {
  postgres.freeze()
  try {
    const askedAt = performance.now()
    expect(await ask('/v1/usage', client.key)).toEqual(UNAVAILABLE)
    expect(performance.now() - askedAt).toBeLessThan(8_000 * busyness())
    expect(await chat(client.key)).toEqual([200, null])
  } finally {
    postgres.thaw()
  }
  await expect.poll(() => ask('/v1/usage', client.key)).toEqual([200, null])
  expect((await stack.usageOf(client, 12)).requests).toBe(12)
})
