import { afterAll, beforeAll, expect, test } from 'vitest'
import { utcDayOf } from '../../../src/domain/utc-day.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'

let upstream: TestUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  stack = await startStack(upstream.url)
  client = await stack.addClient('reader')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

function ask(query: string, method = 'GET'): Promise<Response> {
  return fetch(`${stack.url}/v1/usage${query}`, {
    method,
    headers: { authorization: `Bearer ${client.key}` },
  })
}

let clients = 0

function chat(model: string, caller: TestClient): Promise<Response> {
  return fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [] }),
  })
}

test('without usage the summary is zeros, in the order of the contract', async () => {
  const answer = await ask('')
  expect(answer.status).toBe(200)
  expect(await answer.text()).toBe(
    '{"client":"reader","period_days":30,"requests":0,"input_tokens":0,"output_tokens":0,"total_tokens":0,"avg_latency_ms":0,"cost_usd":0}',
  )
})

test.each(['1', '7', '30', '99', '365'])('days=%s is a period', async (days) => {
  const answer = await ask(`?days=${days}`)
  expect([answer.status, await answer.json()]).toMatchObject([200, { period_days: Number(days) }])
})

test.each([
  'days=0',
  'days=-1',
  'days=366',
  'days=1000',
  'days=1.5',
  'days=7d',
  'days=',
  'days',
  'days=07',
  'days=%2B7',
  'days=1e1',
  'days=0x7',
  'days=%207',
  'days=7%20',
  'days=7%00',
  'days=NaN',
  'days=7&days=7',
  'days=7&days=',
])('%s is refused by name', async (query) => {
  const answer = await ask(`?${query}`)
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: { message: expect.any(String), type: 'invalid_request_error', param: 'days', code: null } },
  ])
})

test.each([
  ['DAYS=7', 'DAYS'],
  ['days[]=7', 'days[]'],
  ['days%5B%5D=7', 'days[]'],
  ['days =7', 'days '],
  ['group_by[]=day', 'group_by[]'],
  ['days=7&__proto__=1', '__proto__'],
  ['days=0&two=2&one=1', 'two'],
  ['=7', ''],
  ['api-version=2024-10-21', 'api-version'],
])('%s has an unknown parameter: a 400 that names %s', async (query, param) => {
  const answer = await ask(`?${query}`)
  const message = `There is no parameter ${param}.`
  expect([answer.status, await answer.json()]).toEqual([
    400,
    { error: { message, type: 'invalid_request_error', param, code: null } },
  ])
})

test('an empty query is no parameter', async () => {
  for (const query of ['?', '?&', '?days=7&']) expect((await ask(query)).status).toBe(200)
})

test.each([
  'group_by=',
  'group_by',
  'group_by=client',
  'group_by=Day',
  'group_by=day,',
  'group_by=day,day',
  'group_by=day&group_by=model',
  'group_by=day;model',
  'group_by=day,%20model',
  'group_by=__proto__',
  'group_by=constructor',
])('%s is refused by name', async (query) => {
  const answer = await ask(`?${query}`)
  expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param: 'group_by' } }])
})

test('groups may be asked for as `by`, but not by both names', async () => {
  expect(await (await ask('?by=day')).json()).toEqual(await (await ask('?group_by=day')).json())
  for (const [query, param] of [
    ['by=client', 'by'],
    ['by=day&by=day', 'by'],
    ['by=day&group_by=day', 'by'],
  ]) {
    const answer = await ask(`?${query}`)
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }])
  }
})

/** Three calls of a client of their own that arrived on one and the same UTC day. */
async function callOnOneDay() {
  while (true) {
    const today = utcDayOf(Date.now())
    const caller = await stack.addClient(`caller ${clients++}`)
    const models = ['gpt-4o-mini', 'gpt-4o', 'gpt-4o-mini']
    await Promise.all(models.map(async (model) => (await chat(model, caller)).text()))
    if (utcDayOf(Date.now()) === today) return { today, client: caller }
  }
}

test('groups add their rows and change nothing else', async () => {
  const { today, client } = await callOnOneDay()
  const plain = await stack.usageOf(client, 3)
  const figures = {
    requests: 3,
    input_tokens: 33,
    output_tokens: 21,
    total_tokens: 54,
    avg_latency_ms: plain.avg_latency_ms,
    cost_usd: plain.cost_usd,
  }
  const key = { key_id: client.keyId, key_name: 'default' }
  const groups: [string, object][] = [
    ['day', { day: today }],
    ['key', key],
    ['model', { model: 'gpt-4o-mini' }],
    ['key,day', { day: today, ...key }],
    ['model,key,day', { day: today, model: 'gpt-4o-mini', ...key }],
  ]
  for (const [groupBy, names] of groups) {
    const { data, ...summary } = await stack.usage(client, `?days=2&group_by=${groupBy}`)
    expect(summary).toEqual({ ...plain, period_days: 2 })
    expect(data).toEqual([{ ...names, ...figures }])
  }
})

test('HEAD answers as GET does, without the body', async () => {
  const answer = await ask('', 'HEAD')
  expect([answer.status, await answer.text()]).toEqual([200, ''])
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
})

test('a key in the query is not a parameter of the usage query', async () => {
  const answer = await fetch(`${stack.url}/v1/usage?key=${client.key}&days=2`)
  expect([answer.status, await answer.json()]).toMatchObject([200, { client: 'reader', period_days: 2 }])
})

test('other methods on it go upstream and are counted', async () => {
  const before = (await stack.usage(client)).requests
  for (const method of ['POST', 'DELETE', 'OPTIONS']) expect((await ask('', method)).status).toBe(200)
  await stack.usageOf(client, before + 3)
  expect(upstream.requests.slice(-3).map(({ method, url }) => `${method} ${url}`)).toEqual([
    'POST /v1/usage',
    'DELETE /v1/usage',
    'OPTIONS /v1/usage',
  ])
})

test('a client sees its own usage alone', async () => {
  const other = await stack.addClient('other')
  expect(await stack.usage(other)).toMatchObject({ client: 'other', requests: 0, total_tokens: 0 })
})

test('a period such as the UTC month to date stands in place of days', async () => {
  const before = new Date().getUTCDate()
  const answer = await ask('?period=month&group_by=day')
  const body = Object(await answer.json())
  expect([answer.status, [before, new Date().getUTCDate()]]).toEqual([
    200,
    expect.arrayContaining([body.period_days]),
  ])
  const yesterday = Object(await (await ask('?period=yesterday')).json())
  expect([yesterday.period_days, yesterday.requests]).toEqual([1, 0])
  expect(Object(await (await ask('?period=7d')).json()).period_days).toBe(7)
  for (const query of [
    '?period=2999-01',
    '?period=week',
    '?period=month&days=3',
    '?period=month&period=month',
    '?period=',
  ]) {
    const refused = await ask(query)
    expect([refused.status, Object(await refused.json()).error.param]).toEqual([400, 'period'])
  }
})
