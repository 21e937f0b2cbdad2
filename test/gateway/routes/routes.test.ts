import type { ServerResponse } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { loadGatewayConfig } from '../../../src/config/config.ts'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import type { TestClient } from '../../support/servers/stack.ts'
import type { UpstreamHandler } from '../../support/upstream.ts'
import {
  COST,
  dies,
  hangs,
  lies,
  says,
  serves,
  startTargets,
  type TargetName,
  type Targets,
} from './three-targets.ts'

let targets: Targets
let client: TestClient
let number = 0

beforeAll(async () => {
  targets = await startTargets([
    '  - { model: any-api, to: [{ upstream: claude, model: claude-x }, { upstream: alpha, model: m-alpha }], order: listed }',
    '  - { model: patient, to: [{ upstream: alpha, model: m-alpha }, { upstream: beta, model: m-beta }], order: listed }',
    '  - { model: half-priced, to: [{ upstream: alpha, model: m-alpha }, { upstream: beta, model: m-none }] }',
    '  - { model: unpriced, to: [{ upstream: beta, model: m-none }] }',
    '  - { model: pinned, to: [{ upstream: alpha, model: m-alpha }], retry: { on: [429], attempts: 3 } }',
  ])
})

afterAll(() => targets?.stop())

beforeEach(async () => {
  // Circuits that the tests before have opened are closed.
  targets.stack.gateway.reload(loadGatewayConfig(targets.stack.env))
  for (const upstream of Object.values(targets.upstreams)) upstream.answer(serves)
  targets.asked()
  number += 1
  client = await targets.stack.addClient(`client ${number}`)
})

const CHAT = { model: 'smart', max_tokens: 16, messages: [{ role: 'user', content: 'Say hello.' }] }

function answering(...handlers: readonly UpstreamHandler[]): void {
  const { alpha, beta, gamma } = targets.upstreams
  for (const [at, upstream] of [alpha, beta, gamma].entries()) upstream.answer(handlers[at] ?? serves)
}

/** The rows of the client: its calls, and what other upstreams may bill. */
async function rows(requests = 1) {
  const summary = await targets.stack.usageOf(client, requests)
  const all = await targets.stack.calls(client)
  return {
    summary,
    calls: all.filter(({ told_by }) => told_by === null),
    parts: all.filter(({ told_by }) => told_by !== null),
  }
}

test.each([
  ['one that dies', [dies], 'beta', ['alpha']],
  ['one that hangs', [hangs], 'beta', ['alpha']],
  ['one that is overloaded', [says(529)], 'beta', []],
  ['one that is limited', [says(429, { 'retry-after': '60' })], 'beta', []],
  ['two that fail', [says(500), dies], 'gamma', ['beta']],
  ['two that do not answer', [hangs, says(408)], 'gamma', ['alpha']],
] as const)('behind %s another answers, and the call is counted once, there', async (_what, handlers, name, billed) => {
  answering(...handlers)
  const answer = await targets.post(client, CHAT)
  expect([answer.status, Object(await answer.json()).model]).toEqual([200, `m-${name}`])
  expect(answer.headers.get('x-tallygate-upstream')).toBe(name)
  expect(answer.headers.get('x-tallygate-attempts')).toBe(`${handlers.length + 1}`)
  const { summary, calls, parts } = await rows()
  expect(calls).toMatchObject([
    { upstream: name, model: `m-${name}`, outcome: 'complete', status: 200, usage_source: 'reported' },
  ])
  expect(calls[0]).toMatchObject({ cost_pico: `${COST[name]}`, requested_model: `m-${name}` })
  expect(summary.requests).toBe(1)
  expect(parts).toMatchObject(
    billed.map((upstream) => ({
      upstream,
      model: `m-${upstream}`,
      usage_source: 'estimated',
      told_by: calls[0]?.call_id,
    })),
  )
  for (const part of parts) expect(BigInt(`${part.cost_pico}`)).toBeGreaterThan(0n)
  const costPico = [...calls, ...parts].reduce((sum, row) => sum + BigInt(`${row.cost_pico}`), 0n)
  expect(summary.cost_usd).toBeCloseTo(Number(costPico) / 1e12, 9)
  expect(Object.keys(targets.asked())).toEqual(['alpha', 'beta', 'gamma'].slice(0, handlers.length + 1))
})

test('a stream that begins with an error is not shown: another one is', async () => {
  answering(lies)
  const answer = await targets.post(client, { ...CHAT, stream: true })
  const text = await answer.text()
  expect(text).toContain('Hello')
  expect(text).not.toMatch(/overloaded|usage/)
  const { calls, parts } = await rows()
  expect(calls).toMatchObject([{ upstream: 'beta', cost_pico: `${COST.beta}`, failed_in_body: false }])
  expect(parts).toEqual([])
})

test('each target is sent the same bytes but for its model, and asked for its usage', async () => {
  answering(says(500), says(500))
  const body = '{ "stream":true , "model" : "smart","messages":[{"role":"user","content":"\\u0048i"}] }'
  await (await targets.post(client, body)).text()
  const sent = ['alpha', 'beta', 'gamma'].map((name) =>
    targets.upstreams[name as TargetName].requests.map(({ body: bytes }) => bytes.toString()),
  )
  expect(sent).toEqual(
    ['alpha', 'beta', 'gamma'].map((name) => [
      body
        .replace('"smart"', `"m-${name}"`)
        .replace('true ', 'true,"stream_options":{"include_usage":true} '),
    ]),
  )
})

test('where all fail, the client gets the answer of the last, its headers too, and the call is counted once', async () => {
  answering(dies, says(500), says(429, { 'retry-after': '7' }))
  const answer = await targets.post(client, CHAT)
  expect([answer.status, answer.headers.get('retry-after'), await answer.text()]).toEqual([
    429,
    '7',
    '{"error":{"message":"no"}}',
  ])
  expect(answer.headers.get('x-tallygate-attempts')).toBe('3')
  const { calls, parts } = await rows()
  expect(calls).toMatchObject([{ upstream: 'gamma', status: 429, cost_pico: '0' }])
  expect(parts).toMatchObject([{ upstream: 'alpha' }])
})

test('where none answers at all, it is a timeout, and each part is told', async () => {
  answering(hangs, hangs, hangs)
  const answer = await targets.post(client, CHAT)
  expect([answer.status, answer.headers.get('x-tallygate-upstream')]).toEqual([504, 'gamma'])
  const { calls, parts } = await rows()
  expect(calls).toMatchObject([
    { upstream: 'gamma', outcome: 'upstream_error', status: null, cost_pico: '0' },
  ])
  expect(parts.map(({ upstream }) => upstream).sort()).toEqual(['alpha', 'beta', 'gamma'])
})

test('what a route does not retry is the answer', async () => {
  answering(says(500))
  expect((await targets.post(client, { ...CHAT, model: 'pinned' })).status).toBe(500)
  answering(says(400))
  expect((await targets.post(client, CHAT)).status).toBe(400)
  expect(targets.asked()).toEqual({ alpha: ['m-alpha', 'm-alpha'] })
})

test('an answer that has begun is never replaced', async () => {
  answering((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[{"delta":{"content":"Hel"}}]}\n\n', () => response.socket?.destroy())
  })
  const answer = await targets.post(client, { ...CHAT, stream: true })
  await expect(answer.text()).rejects.toThrow()
  const { calls } = await rows()
  expect(calls).toMatchObject([{ upstream: 'alpha', outcome: 'upstream_error', status: 200 }])
  expect(targets.asked()).toEqual({ alpha: ['m-alpha'] })
})

test('a client that leaves amid the second attempt ends it, and pays for what either may have used', async () => {
  const secondAsked = Promise.withResolvers<ServerResponse>()
  answering(hangs, (_request, response) => secondAsked.resolve(response))
  const controller = new AbortController()
  const answer = fetch(`${targets.stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ...CHAT, stream: true }),
    signal: controller.signal,
  })
  const failed = expect(answer).rejects.toThrow()
  const second = await secondAsked.promise
  controller.abort()
  await failed
  // It is read on, as it is not known what it uses.
  await expect.poll(() => targets.stack.gateway.unattendedCalls()).toBe(1)
  second.destroy()
  const { calls, parts } = await rows()
  expect(calls).toMatchObject([
    { upstream: 'beta', outcome: 'client_aborted', status: null, usage_source: 'estimated' },
  ])
  expect(parts).toMatchObject([{ upstream: 'alpha', usage_source: 'estimated' }])
  expect(targets.asked()).toEqual({ alpha: ['m-alpha'], beta: ['m-beta'] })
})

test('a configuration that is read amid a call changes nothing for it, and its connections stay', async () => {
  const asked = Promise.withResolvers<ServerResponse>()
  answering((_request, response) => asked.resolve(response))
  const answer = targets.post(client, { ...CHAT, model: 'patient' })
  const response = await asked.promise
  for (let times = 0; times < 3; times += 1)
    targets.stack.gateway.reload(loadGatewayConfig(targets.stack.env))
  response.socket?.resetAndDestroy()
  expect((await answer).headers.get('x-tallygate-upstream')).toBe('beta')
  const { calls, parts } = await rows()
  expect([calls, parts]).toMatchObject([[{ upstream: 'beta', status: 200 }], [{ upstream: 'alpha' }]])
  expect(targets.stack.gateway.unattendedCalls()).toBe(0)
})

test('a call goes to no target that speaks another API, and nowhere where all do', async () => {
  const ask = async (model: string) => {
    const answer = await fetch(`${targets.stack.url}/v1/messages`, {
      method: 'POST',
      headers: {
        'x-api-key': client.key,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
      },
      body: JSON.stringify({ ...CHAT, model }),
    })
    return [answer.status, answer.headers.get('x-tallygate-upstream')]
  }
  expect(await ask('smart')).toEqual([404, null])
  // Its other target speaks this API, and no server is there.
  expect(await ask('any-api')).toEqual([502, 'claude'])
  expect(targets.asked()).toEqual({})
  expect((await targets.post(client, { ...CHAT, model: 'any-api' })).status).toBe(200)
  expect(targets.asked()).toEqual({ alpha: ['m-alpha'] })
})

test('a body that leaves its model in doubt goes nowhere', async () => {
  const answer = await targets.post(client, '{"model":"gpt-4o","messages":[],"model":"smart"}')
  expect([answer.status, Object(await answer.json()).error.param]).toEqual([400, 'model'])
  expect(targets.asked()).toEqual({})
})

test('a call that names an object goes where that is kept, and nowhere else', async () => {
  const ask = async (body: object) => {
    const answer = await fetch(`${targets.stack.url}/v1/responses`, {
      method: 'POST',
      headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'smart', input: 'Hello', ...body }),
    })
    await answer.arrayBuffer()
    return answer.status
  }
  const responds: UpstreamHandler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const usage = { input_tokens: 11, output_tokens: 7, total_tokens: 18 }
    response.end(
      JSON.stringify({ id: `resp_of_client_${number}`, object: 'response', model: 'm-beta', usage }),
    )
  }
  answering(says(500), responds)
  expect(await ask({})).toBe(200)
  expect(targets.asked()).toEqual({ alpha: ['m-alpha'], beta: ['m-beta'] })
  answering(serves, responds)
  expect(await ask({ previous_response_id: `resp_of_client_${number}` })).toBe(200)
  answering(serves, says(500))
  expect(await ask({ previous_response_id: `resp_of_client_${number}` })).toBe(500)
  expect(targets.asked()).toEqual({ beta: ['m-beta', 'm-beta'] })
  // One that no upstream is known to have goes to the first that is listed, each time.
  answering(says(500))
  expect(await ask({ previous_response_id: 'resp_unknown' })).toBe(500)
  expect(targets.asked()).toEqual({ alpha: ['m-alpha'] })
})

test("a key's list of models has the names of routes, and its lists show them", async () => {
  const narrow = await targets.stack.addClient('narrow', { models: ['smart'] })
  expect((await targets.post(narrow, CHAT)).status).toBe(200)
  expect((await targets.post(narrow, { ...CHAT, model: 'pinned' })).status).toBe(403)
  expect((await targets.post(narrow, { ...CHAT, model: 'm-alpha' })).status).toBe(403)
  const list = await fetch(`${targets.stack.url}/v1/models`, {
    headers: { authorization: `Bearer ${narrow.key}` },
  })
  expect(await list.json()).toEqual({
    object: 'list',
    data: [{ id: 'smart', object: 'model', owned_by: 'tallygate' }],
  })
  const other = await targets.stack.addClient('other', { models: ['m-*'] })
  expect((await targets.post(other, CHAT)).status).toBe(403)
})

test('budgets reserve for the dearest target, and are charged what the answering one costs, parts too', async () => {
  const scope = { clientId: client.id, keyId: null, model: null }
  // The prompt's bytes and 16 tokens: less than this at alpha and beta, more at gamma.
  const amount = 3_000_000_000n
  await setLimits(
    targets.stack.pool,
    scope,
    [{ kind: 'budget', per: 'month', isSoft: false, amount }],
    'test',
  )
  await expect.poll(async () => (await targets.post(client, CHAT)).status).toBe(429)
  expect(targets.asked()).toEqual(expect.not.objectContaining({ gamma: expect.anything() }))
  await setLimits(
    targets.stack.pool,
    scope,
    [{ kind: 'budget', per: 'month', isSoft: false, amount: 1_000_000_000_000n }],
    'test',
  )
  await expect.poll(async () => (await targets.post(client, CHAT)).status).toBe(200)
  answering(dies)
  expect((await targets.post(client, CHAT)).status).toBe(200)
  const costOf = async () => {
    const all = await targets.stack.calls(client)
    return all.reduce((sum, row) => sum + BigInt(`${row.cost_pico}`), 0n)
  }
  const spent = async () => {
    const { limits = [] } = await targets.stack.usage(client, '?include=limits')
    const [budget] = limits
    return [Math.round(Number(budget?.spent_usd) * 1e12), Number(await costOf())]
  }
  await expect
    .poll(async () => (await targets.stack.calls(client)).filter(({ told_by }) => told_by !== null).length)
    .toBe(1)
  await expect
    .poll(async () => {
      const [shown, counted] = await spent()
      return shown === counted ? 'equal' : `${shown} and ${counted}`
    })
    .toBe('equal')
})

test.each([
  'half-priced',
  'unpriced',
])('a hard budget refuses the route %s, and names the target without a price', async (model) => {
  await setLimits(
    targets.stack.pool,
    { clientId: client.id, keyId: null, model: null },
    [{ kind: 'budget', per: 'month', isSoft: false, amount: 1_000_000_000_000n }],
    'test',
  )
  const refusal = async () => (await targets.post(client, { ...CHAT, model })).json()
  await expect
    .poll(refusal)
    .toMatchObject({ error: { code: 'model_unpriced', message: expect.stringContaining("'m-none'") } })
})

test('a budget for the name of a route is spent by the calls that ask for it, at whichever target', async () => {
  const scope = { clientId: client.id, keyId: null, model: 'smart' }
  const amount = COST.alpha + COST.beta
  await setLimits(
    targets.stack.pool,
    scope,
    [{ kind: 'budget', per: 'month', isSoft: false, amount }],
    'test',
  )
  const spent = async () => {
    const { limits = [] } = await targets.stack.usage(client, '?include=limits')
    return limits.map(({ spent_usd: usd }) => Math.round(Number(usd) * 1e12))
  }
  await expect.poll(spent).toEqual([0])
  // A call of another name costs the same, and is not spent of it.
  expect((await targets.post(client, { ...CHAT, model: 'pinned' })).status).toBe(200)
  expect((await targets.post(client, CHAT)).status).toBe(200)
  answering(says(500))
  expect((await targets.post(client, CHAT)).status).toBe(200)
  const refused = await targets.post(client, CHAT)
  expect(refused.status).toBe(429)
  expect(await refused.text()).toContain('budget_exceeded')
  answering()
  expect((await targets.post(client, { ...CHAT, model: 'pinned' })).status).toBe(200)
  await expect.poll(spent).toEqual([Number(amount)])
  expect((await targets.post(client, CHAT)).status).toBe(429)
})

test('a limit for a model holds for the name that stands for it', async () => {
  const scope = { clientId: client.id, keyId: null, model: 'm-gamma' }
  await setLimits(
    targets.stack.pool,
    scope,
    [{ kind: 'requests', per: null, isSoft: false, amount: 1n }],
    'test',
  )
  await expect.poll(async () => (await targets.post(client, CHAT)).status).toBe(429)
  expect((await targets.post(client, { ...CHAT, model: 'pinned' })).status).toBe(200)
})
