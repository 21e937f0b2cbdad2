// @long: a crowd of slow estimates
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { event, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let noisy: TestClient
let quiet: TestClient

beforeAll(async () => {
  upstream = await startUpstream((_request, response) => {
    // A stream that says nothing of its usage, asked or not.
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(event({ choices: [{ index: 0, delta: { content: 'Hello there.' } }] }))
    response.end('data: [DONE]\n\n')
  })
  stack = await startStack(upstream.url)
  noisy = await stack.addClient('noisy')
  quiet = await stack.addClient('quiet')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

/** Text that takes the tokenizer long. */
const EMOJI = Array.from({ length: 20_000 }, (_, n) =>
  String.fromCodePoint(0x1f300 + ((n * 7919) % 600)),
).join('')

async function stream(client: TestClient, content: string, description: string): Promise<void> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'gpt-4o-mini',
      stream: true,
      messages: [{ role: 'user', content }],
      tools: [{ type: 'function', function: { name: 'f', description } }],
    }),
  })
  expect(await answer.text()).toContain('[DONE]')
}

test("a crowd of slow estimates of one client holds up another's by a few of them, and each is counted", async () => {
  const crowd = 100
  let ended = 0
  const noise = Array.from({ length: crowd }, async (_, n) => {
    await stream(noisy, `${n} ${EMOJI}`, EMOJI)
    ended += 1
  })
  // By then the queue is as long as it gets.
  await expect.poll(() => upstream.requests.length).toBe(crowd)
  await expect.poll(() => ended).toBeGreaterThan(0)
  const before = ended
  await stream(quiet, 'hi', 'nothing')
  expect(ended - before).toBeLessThan(crowd / 4)
  expect(ended).toBeLessThan(crowd)
  await Promise.all(noise)

  await stack.usageOf(noisy, crowd)
  await stack.usageOf(quiet, 1)
  for (const row of await stack.calls(noisy)) {
    expect(row).toMatchObject({ usage_source: 'estimated', outcome: 'complete' })
    expect(Number(row.input_tokens)).toBeGreaterThan(20_000)
    expect(Number(row.output_tokens)).toBeGreaterThan(0)
  }
  const [row] = await stack.calls(quiet)
  expect(Number(row?.input_tokens)).toBeGreaterThan(5)
  expect(Number(row?.input_tokens)).toBeLessThan(60)
})
