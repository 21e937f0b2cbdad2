import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient } from '../support/stack.ts'
import { type Fixture, startFixture, type Target } from './support/fixture.ts'
import { pathForms, withPrefix } from './support/path-forms.ts'
import { send } from './support/raw-client.ts'
import { type Attack, carryOut, expectNoneFree, type Judged, summaryOf } from './support/table.ts'

const ROUTERS = ['Starlette', 'Express', 'Go', 'nginx'] as const
const MODEL = 'llama3.1'
const CHAT_BODY = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'hi' }] })
const ENDPOINTS = [
  { path: '/v1/chat/completions', body: CHAT_BODY },
  { path: '/v1/messages', body: JSON.stringify({ model: MODEL, max_tokens: 600, messages: [] }) },
  { path: '/v1/responses', body: JSON.stringify({ model: MODEL, input: 'hi' }) },
] as const
const GENERATE = { path: `/v1beta/models/${MODEL}:generateContent`, body: '{"contents":[]}' }

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

/** Each form of the endpoint's path, sent with its body. */
function attacks(target: Target, method: string, endpoint: { path: string; body: string }): Attack[] {
  return pathForms(endpoint.path).map(([name, path]) => {
    const request = (prefix: string, probe: string, headers: readonly string[] = []) => ({
      method,
      target: withPrefix(prefix, path),
      headers: [`x-probe: ${probe}`, ...headers],
      body: endpoint.body,
    })
    return {
      name: `${method} ${endpoint.path}, ${name}`,
      target,
      shown: `${method} ${withPrefix(target.prefix, path)}`,
      send: (url, probe) => send(url, request(target.prefix, probe, [`Authorization: Bearer ${client.key}`])),
      sendDirectly: (url, probe) => send(url, request('', probe)),
      bodiless: method === 'HEAD',
    }
  })
}

function targetOf(targets: readonly Target[], name: string): Target {
  const found = targets.find((target) => target.name === name)
  if (found === undefined) throw new Error(`no router ${name}`)
  return found
}

async function attack(list: readonly Attack[]): Promise<readonly Judged[]> {
  const judged = await carryOut(fixture, list)
  all.push(...judged)
  return judged
}

test.for(
  ROUTERS.flatMap((router) => ENDPOINTS.map((endpoint) => [router, endpoint] as const)),
)('%s: a served call is counted, however its path is written', async ([router, endpoint]) => {
  const judged = await attack(attacks(targetOf(fixture.own, router), 'POST', endpoint))
  expect(judged.find(({ attack: { name } }) => name.endsWith(', plain'))?.verdict).toBe('counted')
  // Or the table would have no teeth: each router takes some form that is not the plain one.
  expect(judged.filter(({ servedDirectly }) => servedDirectly).length).toBeGreaterThan(3)
  expectNoneFree(judged)
})

test.for(ROUTERS)('%s: a model named in the path is counted, however the path is written', async (router) => {
  const judged = await attack(attacks(targetOf(fixture.gemini, router), 'POST', GENERATE))
  expect(judged.find(({ attack: { name } }) => name.endsWith(', plain'))?.verdict).toBe('counted')
  expectNoneFree(judged)
})

test.for(
  ROUTERS.flatMap((router) =>
    ['GET', 'PUT', 'PATCH', 'HEAD', 'DELETE', 'OPTIONS', 'QUERY'].map((method) => [router, method] as const),
  ),
)('%s: a served call is counted when its method is %s', async ([router, method]) => {
  const [chat] = ENDPOINTS
  expectNoneFree(await attack(attacks(targetOf(fixture.own, router), method, chat)))
})
