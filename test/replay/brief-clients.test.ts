import { request as httpRequest } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { seededRandom } from '../support/seeded-random.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'

const CLIENTS = 400
const MAX_STAY_MS = 12

let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  // It never answers: every call ends by its client's leaving.
  upstream = await startUpstream(() => {})
  stack = await startStack(upstream.url)
  client = await stack.addClient('brief')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

/** Sends a call and leaves `stayMs` later, wherever the call is then. */
async function comeAndGo(stayMs: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const request = httpRequest(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
  })
  request.on('error', () => {})
  request.on('close', resolve)
  // One that does not stream would be read on.
  const messages = [{ role: 'user', content: 'Hello there.' }]
  request.end(JSON.stringify({ model: 'gpt-4o', stream: true, messages }))
  await delay(stayMs)
  request.destroy()
  await promise
}

test('exactly those calls of clients that leave at once are recorded that reached the upstream', async () => {
  const random = seededRandom(7)
  for (let round = 0; round < CLIENTS / 20; round += 1)
    await Promise.all(Array.from({ length: 20 }, () => comeAndGo(random() * MAX_STAY_MS)))
  // A call that stays is the last: once it is counted, all others are.
  await comeAndGo(100)
  await expect.poll(async () => (await stack.usage(client)).requests - upstream.requests.length).toBe(0)
  const rows = await stack.calls(client)
  console.log(
    `${CLIENTS + 1} brief clients: ${upstream.requests.length} reached the upstream, ${rows.length} records`,
  )
  expect(rows).toHaveLength(upstream.requests.length)
  expect(rows.length).toBeGreaterThan(10)
  expect(rows.length).toBeLessThan(CLIENTS)
  for (const row of rows)
    expect(row).toMatchObject({ outcome: 'client_aborted', usage_source: 'estimated', output_tokens: '0' })
})
