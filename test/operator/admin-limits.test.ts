import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { addRefusedCalls } from '../../src/limits/table/refused-calls.ts'
import { holdClockAtNoon } from '../clock/clock.ts'
import { addDailyUsage } from './support/daily-usage.ts'
import { type Operator, startOperator } from './support/operator.ts'

const TODAY = holdClockAtNoon()

let operator: Operator

beforeAll(async () => {
  operator = await startOperator()
})

afterAll(() => operator.close())

async function newClient(name: string): Promise<string> {
  await operator.ask({ method: 'POST', url: '/admin/v1/clients', payload: { name } })
  const made = await operator.ask({ method: 'POST', url: '/admin/v1/keys', payload: { client: name } })
  return z.object({ id: z.string() }).parse(made.document).id
}

const set = (payload: object) => operator.ask({ method: 'POST', url: '/admin/v1/limits', payload })
const idOf = (answer: { document: unknown }) => z.object({ id: z.string() }).parse(answer.document).id
const list = async (query = '') => (await operator.ask(`/admin/v1/limits${query}`)).document

test('a limit is set once, shown with what is spent, changed, raised and lifted, each announced', async () => {
  await newClient('acme')
  await addDailyUsage(operator.pool, 'acme', TODAY, 'gpt-4o', { cost_pico: '1500000000001' })
  const order = { client: 'acme', kind: 'budget', per: 'month', limit: '10.000000000001' }
  const first = await set(order)
  expect(first).toMatchObject({
    status: 200,
    document: {
      client: 'acme',
      key: null,
      kind: 'budget',
      limit: '10.000000000001',
      soft: false,
      unpriced: 'refuse',
      when_alone: 'refuse',
      spent_usd: '1.500000000001',
      left_usd: '8.5',
      period_from: `${TODAY.slice(0, 7)}-01`,
    },
  })
  expect(await set(order)).toEqual(first)
  const id = idOf(first)
  const change = (method: 'PUT' | 'POST', path: string, payload: object) =>
    operator.ask({ method, url: `/admin/v1/limits/${id}${path}`, payload })
  expect(await change('PUT', '', { limit: 12, unpriced: 'allow', when_alone: 'share' })).toMatchObject({
    document: { id, limit: '12', unpriced: 'allow', when_alone: 'share' },
  })
  expect(await change('POST', '/raise', { to: '15', until: '1h' })).toMatchObject({
    document: { id, limit: '12', raised_to: '15', left_usd: '13.499999999999' },
  })
  expect(await list('?client=acme')).toHaveLength(1)
  const announced = operator.announcements()
  const removed = await operator.ask({ method: 'DELETE', url: `/admin/v1/limits/${id}` })
  expect(removed).toMatchObject({ status: 200, document: { id, limit: '12' } })
  expect(operator.announcements()).toBe(announced + 1)
  expect(await list('?client=acme')).toEqual([])
  const history = (await operator.ask('/admin/v1/limits/history?client=acme')).document
  expect(history).toMatchObject([
    { action: 'remove', limit: id, before: { limit: '12', raised_to: '15' }, after: null },
    { action: 'raise', after: { raised_to: '15' } },
    { action: 'set', before: { limit: '10.000000000001' }, after: { limit: '12' } },
    { action: 'set', who: 'ADMIN_TOKEN from 127.0.0.1', client: 'acme', before: null },
  ])
  expect(operator.log()).toContain('admin.limit_changed')
})

test('a prepaid budget is topped up, once for each payment', async () => {
  await newClient('prepaid')
  const id = idOf(await set({ client: 'prepaid', kind: 'budget', per: 'total', limit: 10 }))
  const topUp = (payload: object) =>
    operator.ask({ method: 'POST', url: `/admin/v1/limits/${id}/top-up`, payload })
  for (const _ of [1, 2])
    expect(await topUp({ add_usd: '5', reference: 'invoice 7' })).toMatchObject({ document: { limit: '15' } })
  expect(await topUp({ add_usd: -2.5 })).toMatchObject({ document: { limit: '12.5', since: TODAY } })
  expect(await topUp({ add_usd: '-12.5' })).toMatchObject({ status: 409 })
})

test('defaults hold for clients without a like limit, and lists come in parts', async () => {
  await newClient('plain')
  const key = await newClient('own')
  await set({ client: null, kind: 'requests', limit: 100 })
  await set({ client: 'own', kind: 'requests', limit: 50 })
  await set({ client: 'own', kind: 'requests', limit: 10, key })
  await set({ client: 'own', kind: 'tokens', limit: 1_000, model: 'gpt*', cached: 'ignore' })
  expect(await list('?client=plain')).toMatchObject([{ client: null, limit: 100 }])
  const own = [{ limit: 50 }, { limit: 10, key }, { limit: 1_000, model: 'gpt*', cached: 'ignore' }]
  expect(await list('?client=own')).toMatchObject(own)
  for (const query of ['', 'client=own&']) {
    const whole = z.array(z.unknown()).parse(await list(`?${query}`))
    const parts: unknown[] = []
    for (let cursor = ''; ; ) {
      const { headers, body } = await operator.app.inject({
        url: `/admin/v1/limits?${query}limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
        headers: { authorization: 'Bearer operator-token' },
      })
      const part = z.array(z.unknown()).parse(JSON.parse(body))
      expect(part.length).toBeLessThanOrEqual(2)
      parts.push(...part)
      const next = headers['x-tallygate-next-cursor']
      if (next === undefined) break
      cursor = String(next)
    }
    expect(parts).toEqual(whole)
  }
})

test('refused calls are counted by client and reason, those of one client, and the most of them', async () => {
  const { pool } = operator
  await newClient('refused')
  const { rows } = await pool.query<{ id: string }>(`select id from tallygate.clients where name = 'refused'`)
  const clientId = rows[0]?.id ?? ''
  await addRefusedCalls(pool, [
    { day: TODAY, clientId, keyId: 'key_1', model: 'gpt-4o', limitId: '7', reason: 'budget', calls: 3 },
    { day: TODAY, clientId, keyId: 'key_1', model: '', limitId: '8', reason: 'requests', calls: 5 },
  ])
  expect((await operator.ask('/admin/v1/refused?days=1&group_by=client,reason')).document).toEqual([
    { client: 'refused', reason: 'requests', calls: 5 },
    { client: 'refused', reason: 'budget', calls: 3 },
  ])
  expect((await operator.ask('/admin/v1/refused?group_by=key,model,limit')).document).toEqual([
    { key: 'key_1', model: '', limit: '8', calls: 5 },
    { key: 'key_1', model: 'gpt-4o', limit: '7', calls: 3 },
  ])
  expect((await operator.ask('/admin/v1/refused')).document).toEqual([{ calls: 8 }])
  await newClient('never refused')
  const of = async (query: string) => (await operator.ask(`/admin/v1/refused?${query}`)).document
  expect(await of('client=never%20refused')).toEqual([{ calls: 0 }])
  expect(await of('client=refused&group_by=reason&limit=1')).toEqual([{ reason: 'requests', calls: 5 }])
})

test('the budget nearest its end comes first, though 100 were made before it, and lists have 100 items by default', async () => {
  await newClient('many')
  await newClient('late')
  for (let n = 0; n < 100; n += 1)
    await set({ client: 'many', kind: 'budget', per: 'day', limit: '10', model: `model-${n}` })
  await set({ client: 'late', kind: 'budget', per: 'month', limit: '0.01' })
  await addDailyUsage(operator.pool, 'late', TODAY, 'gpt-4o', { cost_pico: '1040000000000' })
  await addDailyUsage(operator.pool, 'many', TODAY, 'model-7', { cost_pico: '8500000000000' })
  const used = async (query: string) =>
    z
      .array(z.object({ client: z.string(), model: z.string().nullable() }))
      .parse(await list(`?sort=used${query}`))
      .map(({ client, model }) => model ?? client)
  expect((await used('&limit=3')).slice(0, 2)).toEqual(['late', 'model-7'])
  expect(await used('&state=exceeded')).toEqual(['late'])
  expect(await used('&state=near')).toEqual(['model-7'])
  // A change of a limit is in the order at once, whatever was asked before.
  await set({ client: 'many', kind: 'budget', per: 'day', limit: '8.6', model: 'model-7' })
  await set({ client: 'late', kind: 'budget', per: 'month', limit: '100' })
  expect((await used('&limit=3')).slice(0, 2)).toEqual(['model-7', 'late'])
  expect(await list()).toHaveLength(100)
  const paged: string[] = []
  for (let cursor = ''; ; ) {
    const { headers, body } = await operator.app.inject({
      url: `/admin/v1/limits?sort=used&limit=40${cursor === '' ? '' : `&cursor=${cursor}`}`,
      headers: { authorization: 'Bearer operator-token' },
    })
    paged.push(...JSON.parse(body).map(({ id }: { id: string }) => id))
    if (headers['x-tallygate-next-cursor'] === undefined) break
    cursor = String(headers['x-tallygate-next-cursor'])
  }
  expect(paged.length).toBeGreaterThanOrEqual(101)
  expect(new Set(paged).size).toBe(paged.length)
  for (const [query, param] of [
    ['?sort=used&client=late', 'client'],
    ['?state=near', 'state'],
    ['?sort=used&cursor=7', 'cursor'],
    ['?cursor=1~7', 'cursor'],
  ])
    expect(await operator.ask(`/admin/v1/limits${query}`)).toMatchObject({
      status: 400,
      document: { error: { param } },
    })
})

const budget = { client: 'strict', kind: 'budget', per: 'day', limit: '1' }

test.each([
  [{ kind: 'requests', limit: 1 }, 'client', 'client is missing.'],
  [{ client: 'strict', kind: 'requests' }, 'limit', 'limit must be a number, or US dollars as text.'],
  [{ ...budget, kind: 'speed' }, 'kind', 'kind must be one of budget, requests, tokens, concurrent.'],
  [{ ...budget, extra: 1 }, 'extra', 'There is no parameter extra.'],
  [{ ...budget, limit: '0.0000000000001' }, 'limit', /^limit must be US dollars above 0 /],
  [{ ...budget, limit: 0 }, 'limit', /^limit must be US dollars above 0 /],
  [{ ...budget, limit: '1e3' }, 'limit', /^limit must be US dollars above 0 /],
  [{ ...budget, per: undefined }, 'per', 'per is missing: a budget needs a period.'],
  [{ ...budget, per: 'year' }, 'per', 'per must be one of day, week, month, total.'],
  [{ ...budget, since: '2026-01-01' }, 'since', 'since applies only to budgets in total.'],
  [{ ...budget, per: 'total', since: '2099-01-01' }, 'since', 'since must not be after today.'],
  [{ ...budget, per: 'total', since: '2026-02-30' }, 'since', /^since must be a day that exists/],
  [{ ...budget, soft: true, unpriced: 'allow' }, 'unpriced', 'unpriced applies only to hard budgets.'],
  [{ ...budget, soft: true, when_alone: 'share' }, 'when_alone', 'when_alone applies only to hard budgets.'],
  [{ ...budget, soft: 1 }, 'soft', 'soft must be true or false.'],
  [{ ...budget, cached: 'count' }, 'cached', 'cached applies only to limits of tokens.'],
  [{ ...budget, model: 'a*b' }, 'model', 'model must be the name of a model; a * may only end it.'],
  [{ ...budget, client: null, key: 'key_x' }, 'key', 'key needs client: a default is for every key.'],
  [
    { client: 'strict', kind: 'requests', limit: 1.5 },
    'limit',
    'limit must be a whole number from 1 to 1000000000.',
  ],
  [{ client: 'strict', kind: 'requests', limit: -1 }, 'limit', /^limit must be a whole number/],
  [{ client: 'strict', kind: 'requests', limit: 1, per: 'day' }, 'per', 'per applies only to budgets.'],
  [{ client: 'strict', kind: 'requests', limit: 1, soft: true }, 'soft', 'soft applies only to budgets.'],
])('the body %j is refused by the parameter', async (payload, param, message) => {
  const expected = typeof message === 'string' ? message : expect.stringMatching(message)
  expect(await set(payload)).toEqual({
    status: 400,
    document: { error: { message: expected, type: 'invalid_request_error', param, code: null } },
  })
})

test('clients, keys and limits that are not there are not found, and nothing was announced', async () => {
  const key = await newClient('strict')
  await newClient('stranger')
  const id = idOf(await set(budget))
  const announced = operator.announcements()
  const bodies = [
    [{ ...budget, client: 'missing' }, 'client', 'There is no client named missing.'],
    [{ ...budget, key: 'key_none' }, 'key', 'There is no key with the id key_none.'],
    [{ ...budget, client: 'stranger', key }, 'key', `Key ${key} is of the client strict.`],
  ] as const
  for (const [payload, param, message] of bodies)
    expect(await set(payload)).toMatchObject({ status: 404, document: { error: { param, message } } })
  const asked = [
    ['GET', '/limits?client=missing', undefined, 404],
    ['GET', '/limits?cursor=x', undefined, 400],
    ['GET', '/limits?limit=0', undefined, 400],
    ['GET', '/limits?page=2', undefined, 400],
    ['GET', '/limits/history?client=missing', undefined, 404],
    ['GET', '/limits/history?cursor=x', undefined, 400],
    ['GET', '/refused?group_by=upstream', undefined, 400],
    ['GET', '/refused?days=0', undefined, 400],
    ['GET', '/refused?client=missing', undefined, 404],
    ['GET', '/refused?limit=0', undefined, 400],
    ['DELETE', '/limits/999999', undefined, 404],
    ['DELETE', '/limits/x', undefined, 404],
    ['PUT', '/limits/999999', { limit: 1 }, 404],
    ['PUT', `/limits/${id}`, { limit: 1, per: 'day' }, 400],
    ['POST', `/limits/${id}/raise`, { to: 1, until: '1h' }, 409],
    ['POST', `/limits/${id}/raise`, { to: 2, until: '2020-01-01' }, 400],
    ['POST', `/limits/${id}/raise`, { to: 2, until: 'tomorrow' }, 400],
    ['POST', `/limits/${id}/top-up`, { add_usd: 1 }, 400],
  ] as const
  for (const [method, url, payload, status] of asked)
    expect(
      (await operator.ask({ method, url: `/admin/v1${url}`, ...(payload && { payload }) })).status,
      url,
    ).toBe(status)
  expect(operator.announcements()).toBe(announced)
})
