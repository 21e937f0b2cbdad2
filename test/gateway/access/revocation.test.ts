import { mkdtemp, rm } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { type RunningGateway, runGateway } from '../../../src/gateway/run-gateway.ts'
import { announceKeyChange } from '../../../src/keys/key-version.ts'
import { revokeKey } from '../../../src/keys/keys.ts'
import { createLog } from '../../../src/lib/log.ts'
import { busyness } from '../../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { CHAT_USAGE, chatAnswer, event, startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { exchange, requestText } from '../raw-http.ts'
import { type HeardGateway, startHeardGateway } from '../support/heard-process.ts'

const quiet = { info() {}, warn() {}, error() {} }

let upstream: TestUpstream
let stack: TestStack
let folder: string
/** Two processes on one port, which take connections in turn. */
let cluster: HeardGateway
let withoutRedis: RunningGateway
/** By URL, those two and the one of the stack. */
let gateways: readonly string[]

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-revocation-'))
  const env = { ...stack.env, JOURNAL_DIR: join(folder, 'journal') }
  cluster = await startHeardGateway({ ...env, LOG_LEVEL: 'info', GATEWAY_PROCESSES: '2' })
  const apart = { ...env, REDIS_URL: 'redis://127.0.0.1:1', JOURNAL_DIR: join(folder, 'other') }
  withoutRedis = await runGateway(loadGatewayConfig(apart), createLog('silent', 'test'))
  gateways = [stack.url, cluster.url, `http://127.0.0.1:${withoutRedis.address.port}`]
  const takesCalls = () => cluster.output().match(/the gateway takes calls/g)?.length === 2
  await vi.waitUntil(takesCalls)
})

afterAll(async () => {
  await Promise.all([cluster?.end('SIGTERM'), withoutRedis?.stop()])
  await stack?.stop()
  await upstream?.close()
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

/** A call on a connection of its own. */
async function status(url: string, client: TestClient): Promise<number> {
  const text = requestText('/v1/x', [`Authorization: Bearer ${client.key}`])
  return (await exchange(url, text)).status
}

/** Calls without a pause until a row of them was refused; milliseconds from now to the sending of the last that was not. */
async function timeToDeath(url: string, client: TestClient): Promise<number> {
  const startedAt = performance.now()
  let lastTakenAt = startedAt
  for (let refused = 0; refused < 10; ) {
    const sentAt = performance.now()
    const answered = await status(url, client)
    if (answered === 403) refused += 1
    else {
      expect(answered).toBe(200)
      lastTakenAt = sentAt
      refused = 0
    }
  }
  return lastTakenAt - startedAt
}

test('a revoked key is taken by no process of any gateway after a second', async () => {
  const client = await stack.addClient('revoked')
  for (const gateway of gateways) {
    for (let call = 0; call < 4; call += 1) expect(await status(gateway, client)).toBe(200)
  }
  await revokeKey(stack.pool, client.keyId)
  const times = await Promise.all(gateways.map((gateway) => timeToDeath(gateway, client)))
  expect(Math.max(...times)).toBeLessThan(1_000 * busyness())
})

test('an announced revocation is seen at once by all that have Redis', async () => {
  const shortestMs: number[] = []
  for (let round = 0; round < 3; round += 1) {
    const client = await stack.addClient(`announced ${round}`)
    for (let call = 0; call < 4; call += 1) expect(await status(cluster.url, client)).toBe(200)
    await revokeKey(stack.pool, client.keyId)
    expect(await announceKeyChange(stack.env.REDIS_URL ?? '', stack.redisPrefix, quiet)).toBe(true)
    shortestMs.push(await timeToDeath(cluster.url, client))
  }
  expect(Math.min(...shortestMs)).toBeLessThan(300 * busyness())
})

test('an answer that is running when its key is revoked ends whole and is counted; the next call is refused', async () => {
  const client = await stack.addClient('midway')
  const answering = new Promise<ServerResponse>((resolve) => {
    upstream.answer((request, response) => {
      if (request.method === 'GET') return chatAnswer(request, response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(event({ choices: [{ index: 0, delta: { content: 'Hello' } }] }))
      resolve(response)
    })
  })
  const running = await fetch(`${cluster.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: '{"model":"gpt-4o-mini","stream":true,"messages":[]}',
  })
  const response = await answering
  await revokeKey(stack.pool, client.keyId)
  await timeToDeath(cluster.url, client)
  response.write(event({ choices: [], usage: CHAT_USAGE }))
  response.end('data: [DONE]\n\n')
  expect(await running.text()).toMatch(/Hello.*\[DONE\]\n\n$/s)
  await expect
    .poll(() => stack.calls(client))
    .toEqual(
      expect.arrayContaining([
        expect.objectContaining({ outcome: 'complete', input_tokens: '11', output_tokens: '7' }),
      ]),
    )
})
