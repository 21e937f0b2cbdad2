import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient } from '../support/servers/stack.ts'
import { ALL_ROUTERS, requestsTo, targetOf } from './support/attacks.ts'
import { type Fixture, startFixture } from './support/fixture.ts'
import { carryOut, expectNone, type Judged, summaryOf } from './support/table.ts'

const METHODS = ['POST', 'GET', 'PUT', 'PATCH', 'HEAD', 'DELETE', 'OPTIONS', 'QUERY'] as const
const OVERRIDES = ['X-HTTP-Method-Override: DELETE', 'X-HTTP-Method: DELETE', 'X-Method-Override: DELETE']

let fixture: Fixture
let client: TestClient
const all: Judged[] = []

beforeAll(async () => {
  fixture = await startFixture()
  client = await fixture.stack.addClient('rider')
})

afterAll(async () => {
  await fixture?.stop()
  console.log(summaryOf('Refused paths', all))
})

function served(judged: readonly Judged[]): readonly Judged[] {
  all.push(...judged)
  return judged.filter(({ endpoint }) => endpoint === 'client_secrets' || endpoint === 'delete')
}

test.for(
  ALL_ROUTERS.flatMap((router) =>
    METHODS.flatMap((method) => ['', '{}'].map((body) => [router, method, body] as const)),
  ),
)('%s: no form of a path that mints credentials is served by %s with the body "%s"', async ([
  router,
  method,
  body,
]) => {
  const request = { method, path: '/v1/realtime/client_secrets', body, key: client.key }
  const judged = await carryOut(fixture, requestsTo(targetOf(fixture.compatible, router), request))
  // Or nothing could be served, and nothing would be shown.
  if (method === 'POST') expect(judged.some(({ servedDirectly }) => servedDirectly)).toBe(true)
  expectNone(served(judged))
})

test.for(
  ALL_ROUTERS.flatMap((router) => ['', ...OVERRIDES].map((header) => [router, header] as const)),
)('%s: no form of a path deletes a model (%s)', async ([router, header]) => {
  const target = targetOf(fixture.compatible, router)
  const path = '/v1/models/gpt-4o'
  const request = { body: '', key: client.key, path }
  const judged = await carryOut(
    fixture,
    header === ''
      ? requestsTo(target, { ...request, method: 'DELETE' })
      : requestsTo(target, { ...request, method: 'POST', headers: [header] }),
  )
  expectNone(served(judged))
})
