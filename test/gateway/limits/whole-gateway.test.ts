import { beforeEach, expect, test } from 'vitest'
import { createClientKey, revokeKey } from '../../../src/keys/keys.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { rotateLimitedKey } from '../../../src/limits/table/rotate-limited-key.ts'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import { PEPPER, type TestClient } from '../../support/servers/stack.ts'
import { chatAnswer } from '../../support/upstream.ts'

/** Of 11 prompt tokens and 7 generated ones of gpt-4o-mini. */
const CALL_USD = (11 * 0.15 + 7 * 0.6) / 1e6

let client: TestClient
let number = 0

const { upstream, stack } = await startOwnStack()

beforeEach(async () => {
  number += 1
  client = await stack.addClient(`limited ${number}`)
})

function chat(model = 'gpt-4o-mini', more: object = { max_tokens: 10 }): Promise<Response> {
  return fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], ...more }),
  })
}

/** Sets limits, and waits until the gateway has them. */
async function limit(...orders: Parameters<typeof setLimits>[2][number][]): Promise<void> {
  await setLimits(stack.pool, { clientId: client.id, keyId: null, model: null }, orders, 'test')
  await expect.poll(async () => (await limits()).length).toBe(orders.length)
}

async function limits(): Promise<readonly Record<string, unknown>[]> {
  const { limits: listed } = await stack.usage(client, '?include=limits')
  if (listed === undefined) throw new Error('the usage has no limits')
  return listed
}

test('a budget refuses what is beyond it, by the figures that usage shows', async () => {
  await limit({ kind: 'budget', per: 'day', isSoft: false, amount: 13_000_000n })
  const answers: number[] = []
  for (let calls = 0; calls < 4; calls++) answers.push((await chat()).status)
  expect(answers).toEqual([200, 200, 200, 429])
  const refused = await chat()
  expect(refused.status).toBe(429)
  expect(refused.headers.get('x-should-retry')).toBe('false')
  const { error } = (await refused.json()) as { readonly error: Record<string, string> }
  expect(error).toMatchObject({ type: 'rate_limit_error', code: 'budget_exceeded' })
  const usage = await stack.usageOf(client, 3)
  expect(usage.cost_usd).toBeCloseTo(3 * CALL_USD, 15)
  expect(await limits()).toMatchObject([
    { kind: 'budget', per: 'day', limit_usd: 0.000013, spent_usd: usage.cost_usd, left_usd: 0, soft: false },
  ])
})

test('rates stand in the headers of answers and beside the usage', async () => {
  await limit(
    { kind: 'requests', per: null, isSoft: false, amount: 2n },
    { kind: 'tokens', per: null, isSoft: false, amount: 100_000n },
  )
  const first = await chat()
  expect(first.status).toBe(200)
  expect(first.headers.get('x-ratelimit-limit-requests')).toBe('2')
  expect(first.headers.get('x-ratelimit-remaining-requests')).toBe('1')
  expect(first.headers.get('x-ratelimit-limit-tokens')).toBe('100000')
  await chat()
  const refused = await chat()
  expect(refused.status).toBe(429)
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(refused.headers.get('x-ratelimit-remaining-requests')).toBe('0')
  expect(await limits()).toMatchObject([
    { kind: 'requests', limit: 2, remaining: 0 },
    { kind: 'tokens', limit: 100_000, remaining: 100_000 - 36 },
  ])
})

test('a model without a price is refused under a hard budget alone', async () => {
  expect((await chat('nobody-has-this')).status).toBe(200)
  await limit({ kind: 'budget', per: 'month', isSoft: false, amount: 10n ** 12n })
  const refused = await chat('nobody-has-this')
  expect(refused.status).toBe(403)
  expect(await refused.json()).toMatchObject({
    error: {
      code: 'model_unpriced',
      type: 'permission_error',
      message: expect.stringContaining("'nobody-has-this'"),
    },
  })
  const listed = await fetch(`${stack.url}/v1/files`, { headers: { authorization: `Bearer ${client.key}` } })
  expect(listed.status).toBe(200)
  await listed.arrayBuffer()
})

test('include takes limits alone and changes nothing else', async () => {
  await limit({ kind: 'concurrent', per: null, isSoft: false, amount: 3n })
  const plain = await stack.usage(client, '?days=2&group_by=model')
  const { limits: listed, ...rest } = await stack.usage(client, '?days=2&group_by=model&include=limits')
  expect(rest).toEqual(plain)
  expect(listed).toEqual([
    expect.objectContaining({ kind: 'concurrent', key_id: null, model: null, limit: 3, remaining: 3 }),
  ])
  for (const query of [
    '?include=',
    '?include=limit',
    '?include=limits,x',
    '?include=limits&include=limits',
  ]) {
    const answer = await fetch(`${stack.url}/v1/usage${query}`, {
      headers: { authorization: `Bearer ${client.key}` },
    })
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'include' } }])
  }
})

test('refused calls are added to Postgres, and are in no usage', async () => {
  await limit({ kind: 'requests', per: null, isSoft: false, amount: 1n })
  const statuses = [await chat(), await chat(), await chat()].map(({ status }) => status)
  expect(statuses).toEqual([200, 429, 429])
  await stack.usageOf(client, 1)
  const refused = async () =>
    (
      await stack.pool.query(
        `select reason, calls::int as calls, r.model, k.client_id = r.client_id as of_key, l.kind
         from tallygate.refusals r join tallygate.keys k on k.id = r.key_id
         join tallygate.limits l on l.id::text = r.limit_id where r.client_id = $1`,
        [client.id],
      )
    ).rows
  await expect
    .poll(refused)
    .toEqual([{ reason: 'requests', calls: 2, model: 'gpt-4o-mini', of_key: true, kind: 'requests' }])
})

test('a key that is rotated gives its budget on, with what was spent of it, and both keys share it', async () => {
  const { rows } = await stack.pool.query<{ id: string }>(
    'select id from tallygate.keys where client_id = $1',
    [client.id],
  )
  const scope = { clientId: client.id, keyId: rows[0]?.id ?? '', model: null }
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 16_000_000n } as const
  await setLimits(stack.pool, scope, [order], 'test')
  await expect.poll(async () => (await limits()).length).toBe(1)
  expect([(await chat()).status, (await chat()).status]).toEqual([200, 200])
  const rotation = await rotateLimitedKey(stack.pool, scope.keyId, 3_600, PEPPER, 'test')
  if (rotation.kind !== 'rotated') throw new Error(rotation.kind)
  const old = client
  client = { ...client, key: rotation.key.key }
  // From its first call on.
  expect(await limits()).toMatchObject([{ kind: 'budget', key_id: rotation.key.id, limit_usd: 0.000016 }])
  expect((await chat()).status).toBe(200)
  expect((await chat()).status).toBe(429)
  client = old
  expect((await chat()).status).toBe(429)
  expect(await limits()).toMatchObject([{ key_id: rotation.key.id, limit_usd: 0.000016, left_usd: 0 }])
})

test('a key that is revoked with the call that ends its budget: that one counts, and no other key has less', async () => {
  const scope = { clientId: client.id, keyId: client.keyId, model: null }
  const order = { kind: 'budget', per: 'day', isSoft: false, amount: 5_000_000n } as const
  await setLimits(stack.pool, scope, [order], 'test')
  await expect.poll(async () => (await limits()).length).toBe(1)
  const named = { client: client.name, name: 'spare', models: null, expiresInSeconds: null }
  const spare = await createClientKey(stack.pool, named, PEPPER)
  if (spare === null) throw new Error('no second key')
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  upstream.answer(async (request, response) => {
    reached.resolve()
    await released.promise
    chatAnswer(request, response)
  })
  const running = chat()
  await reached.promise
  await revokeKey(stack.pool, client.keyId)
  const headers = { authorization: `Bearer ${client.key}` }
  const seen = async () => (await fetch(`${stack.url}/v1/models`, { headers })).status
  await expect.poll(seen).toBe(403)
  expect((await chat()).status).toBe(403)
  released.resolve()
  expect((await running).status).toBe(200)
  client = { ...client, keyId: spare.id, key: spare.key }
  const usage = await stack.usageOf(client, 1)
  expect(usage.cost_usd).toBeCloseTo(CALL_USD, 15)
  const { rows } = await stack.pool.query<{ pico: string }>(
    'select sum(cost_pico) as pico from tallygate.daily_usage where client_id = $1 and key_id = $2',
    [client.id, scope.keyId],
  )
  expect(Number(rows[0]?.pico) / 1e12).toBeCloseTo(CALL_USD, 15)
  // Its own call is not held by what the other key has spent.
  expect((await chat()).status).toBe(200)
})
