import { afterAll, beforeAll, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack

beforeAll(async () => {
  upstream = await startUpstream((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' }).end('word '.repeat(20_000))
  })
  stack = await startStack(upstream.url)
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

test.each([
  ['alone', ''],
  ['behind much else', 'x'.repeat(66_000)],
])('sound that a form names by its address keeps no small reservation: %s', async (name, filler) => {
  const client = await stack.addClient(name)
  const scope = { clientId: client.id, keyId: null, model: null }
  await setLimits(
    stack.pool,
    scope,
    [{ kind: 'budget', per: 'day', isSoft: false, amount: 5_000_000_000_000n }],
    'test',
  )
  const limit = async () => (await stack.usage(client, '?include=limits')).limits?.[0]
  await expect.poll(limit).toBeDefined()
  const form = new FormData()
  form.append('model', 'whisper-1')
  form.append('response_format', 'text')
  if (filler !== '') form.append('prompt', filler)
  form.append('url', 'https://example.com/an-hour.mp3')
  const headers = { authorization: `Bearer ${client.key}` }
  const answer = await fetch(`${stack.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
  await answer.text()
  expect(answer.status).toBe(200)
  await stack.usageOf(client, 1)
  const [call] = await stack.calls(client)
  expect(call?.cost_pico).toBeNull()
  // An hour at 0.006 USD a minute.
  expect(Number((await limit())?.charged_usd)).toBeGreaterThan(0.36)
})
