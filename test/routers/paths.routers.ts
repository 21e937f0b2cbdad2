import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient } from '../support/servers/stack.ts'
import { ALL_ROUTERS, type Asked, requestsTo, targetOf } from './support/attacks.ts'
import { type Fixture, startFixture, type Target } from './support/fixture.ts'
import { type Attack, carryOut, expectNoneFree, type Judged, summaryOf } from './support/table.ts'

const MODEL = 'llama3.1'
const CHAT_BODY = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hi' }] })
const ENDPOINTS = [
  { path: '/v1/chat/completions', body: CHAT_BODY },
  { path: '/v1/messages', body: JSON.stringify({ model: MODEL, max_tokens: 600, messages: [] }) },
  { path: '/v1/responses', body: JSON.stringify({ model: MODEL, input: 'hi' }) },
] as const
const GENERATE = { path: `/v1beta/models/${MODEL}:generateContent`, body: '{"contents":[]}' }
const OTHER_METHODS = ['GET', 'PUT', 'PATCH', 'HEAD', 'DELETE', 'OPTIONS', 'QUERY'] as const

let fixture: Fixture
let client: TestClient
const all: Judged[] = []

beforeAll(async () => {
  fixture = await startFixture()
  client = await fixture.stack.addClient('rider')
})

afterAll(async () => {
  await fixture?.stop()
  console.log(summaryOf('Forms of paths', all))
})

function formsOf(targets: readonly Target[], router: string, method: string, asked: Asked): Attack[] {
  return requestsTo(targetOf(targets, router), { method, key: client.key, ...asked })
}

async function attack(list: readonly Attack[]): Promise<readonly Judged[]> {
  const judged = await carryOut(fixture, list)
  all.push(...judged)
  return judged
}

test.for(
  ALL_ROUTERS.flatMap((router) => ENDPOINTS.map((endpoint) => [router, endpoint] as const)),
)('%s: a served call is counted, however its path is written', async ([router, endpoint]) => {
  const judged = await attack(formsOf(fixture.own, router, 'POST', endpoint))
  expect(judged.find(({ attack: { name } }) => name === 'plain')?.verdict).toBe('counted')
  // Or the table would have no teeth: each router takes some form that is not the plain one.
  expect(judged.filter(({ servedDirectly }) => servedDirectly).length).toBeGreaterThan(3)
  expectNoneFree(judged)
})

test.for(
  ALL_ROUTERS,
)('%s: a model named in the path is counted, however the path is written', async (router) => {
  const judged = await attack(formsOf(fixture.gemini, router, 'POST', GENERATE))
  expect(judged.find(({ attack: { name } }) => name === 'plain')?.verdict).toBe('counted')
  expectNoneFree(judged)
})

test.for(
  ALL_ROUTERS.flatMap((router) => OTHER_METHODS.map((method) => [router, method] as const)),
)('%s: a served call is counted when its method is %s', async ([router, method]) => {
  const [chat] = ENDPOINTS
  expectNoneFree(await attack(formsOf(fixture.own, router, method, chat)))
})

test.for(ALL_ROUTERS)('%s: a call without a body is counted where one is served', async (router) => {
  const withoutBody = { ...GENERATE, body: '' }
  const methods = ['POST', ...OTHER_METHODS]
  expectNoneFree(
    await attack(methods.flatMap((method) => formsOf(fixture.gemini, router, method, withoutBody))),
  )
})
