// @long: thousands of calls, then what memory is left
import { afterAll, beforeAll, expect, test } from 'vitest'
import { heldMemory } from '../../support/memory.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

const AT_ONCE = 16
/** More than any buffer, cache or table of a gateway has room for before it drops the oldest. */
const WARM_UP = 2_000
const CALLS = 4_000
/** A call that left 500 bytes behind would be seen. */
const GROWTH_MAX_BYTES = CALLS * 500

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let counted = 0

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('many')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

/** Sends calls, every tenth of them streamed, and waits until they are counted. */
async function send(calls: number): Promise<void> {
  let left = calls
  const sender = async () => {
    while (left > 0) {
      left -= 1
      const answer = await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gpt-4o-mini', messages: [], stream: left % 10 === 0 }),
      })
      expect(answer.status).toBe(200)
      await answer.text()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, sender))
  upstream.requests.length = 0
  counted += calls
  await stack.usageOf(client, counted)
}

test('thousands of calls leave nothing behind in memory', async () => {
  await send(WARM_UP)
  const before = heldMemory()
  await send(CALLS)
  const after = heldMemory()
  expect(after.heapUsed - before.heapUsed).toBeLessThan(GROWTH_MAX_BYTES)
  expect(after.external - before.external).toBeLessThan(GROWTH_MAX_BYTES)
})
