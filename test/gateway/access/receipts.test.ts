import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient
let other: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('asking')
  other = await stack.addClient('beside')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

function get(path: string, { key }: TestClient = client): Promise<Response> {
  return fetch(`${stack.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
}

/** @returns The id of the call. */
async function call(): Promise<string> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [] }),
  })
  await answer.text()
  return answer.headers.get('x-tallygate-call-id') ?? ''
}

/** Where the call is not counted yet, the answer says that it may lack it. */
async function receiptOf(id: string): Promise<Response> {
  while (true) {
    const answer = await get(`/v1/usage/calls/${id}`)
    if (answer.status === 200) return answer
    expect([answer.status, answer.headers.has('x-tallygate-as-of')]).toEqual([404, true])
  }
}

test('right after its answer a call has a receipt, whose lines are its cost', async () => {
  const id = await call()
  const answer = await receiptOf(id)
  const receipt = await answer.json()
  expect(receipt).toMatchObject({ call_id: id, outcome: 'complete', usage_source: 'reported' })
  const { cost_usd: cost, components } = receipt as {
    readonly cost_usd: string
    readonly components: readonly { readonly amount_usd: string }[]
  }
  expect(components.length).toBeGreaterThan(0)
  const sum = components.reduce((all, { amount_usd }) => all + Math.round(Number(amount_usd) * 1e12), 0)
  expect(sum).toBe(Math.round(Number(cost) * 1e12))
})

test('a receipt says nothing of upstream, price list and markup', async () => {
  const answer = await receiptOf(await call())
  expect(Object.keys((await answer.json()) as object)).toEqual([
    'call_id',
    'response_id',
    'arrived_at',
    'model',
    'status',
    'outcome',
    'usage_source',
    'usage',
    'cost_usd',
    'unpriced_reason',
    'components',
    'service_tier',
    'unpriced',
    'signature',
    'public_key',
    'inclusion',
  ])
})

test('another client’s call has no receipt, and neither has one that never was', async () => {
  const id = await call()
  await receiptOf(id)
  const refused = await get(`/v1/usage/calls/${id}`, other)
  expect([refused.status, await refused.text()]).toEqual([404, expect.stringContaining('no call of that id')])
  for (const odd of ['no-such', '%00', '..%2F..', `${'x'.repeat(90)}`, "'--"]) {
    expect((await get(`/v1/usage/calls/${odd}`)).status, odd).not.toBe(200)
  }
  expect(upstream.requests.every(({ url }) => url?.includes('usage') === false)).toBe(true)
})

test('it is found however its path is written, takes no parameters, and needs a key', async () => {
  const id = await call()
  await receiptOf(id)
  expect((await get(`/v1/v1/Usage/Calls/${id}`)).status).toBe(200)
  expect((await get(`/v1/usage/calls/${id}?days=1`)).status).toBe(400)
  expect((await fetch(`${stack.url}/v1/usage/calls/${id}`)).status).toBe(401)
})
