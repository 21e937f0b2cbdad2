import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { json, startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let folder: string
let stack: TestStack

beforeAll(async () => {
  upstream = await startUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  const file = join(folder, 'tallygate.yaml')
  const price = "prices: [{ model: own, provider: vllm, input: '1', output: '2' }]"
  await writeFile(file, `upstreams: [{ name: main, url: '${upstream.url}', provider: vllm }]\n${price}\n`)
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: file } })
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

async function post(client: TestClient, path: string, body: object): Promise<number> {
  const answer = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  await answer.arrayBuffer()
  return answer.status
}

const GENERATE = '/inference/v1/generate'
const TOKENS = { token_ids: [5, 6, 7], sampling_params: { max_tokens: 9 } }

test('an answer that counts none of its tokens is counted by their ids', async () => {
  const client = await stack.addClient('tokens')
  const choices = [0, 1].map((index) => ({ index, token_ids: Array.from({ length: 40 }, () => 11) }))
  upstream.answer((_request, response) => json(response, 200, { request_id: 'r', choices }))
  await post(client, GENERATE, { model: 'own', ...TOKENS })
  await stack.usageOf(client, 1)
  const row = (await stack.calls(client)).at(-1)
  expect(row).toMatchObject({ usage_source: 'estimated', input_tokens: '3' })
  expect(Number(row?.output_tokens)).toBeGreaterThanOrEqual(80)
  expect(Number(row?.output_tokens)).toBeLessThan(90)
})

test.each([
  '/invocations',
  '/%69nvocations',
  '/a/invocations/',
  GENERATE,
])('at %s the model is asked of a key’s list and of a hard budget', async (path) => {
  upstream.requests.length = 0
  const restricted = await stack.addClient(`list ${path}`, { models: ['own'] })
  const paying = await stack.addClient(`budget ${path}`)
  const scope = { clientId: paying.id, keyId: null, model: null }
  await setLimits(
    stack.pool,
    scope,
    [{ kind: 'budget', per: 'day', isSoft: false, amount: 10n ** 12n }],
    'test',
  )
  await expect.poll(async () => (await stack.usage(paying, '?include=limits')).limits).toHaveLength(1)
  const refused = []
  for (const client of [restricted, paying]) {
    for (const model of [{ model: 'other' }, {}])
      refused.push(await post(client, path, { ...model, ...TOKENS }))
  }
  expect(refused).toEqual([403, 403, 403, 403])
  expect(upstream.requests).toEqual([])
})
