import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient } from '../support/servers/stack.ts'
import { ALL_ROUTERS, createObjects, requestsTo, targetOf } from './support/attacks.ts'
import { type Fixture, startFixture, type Target } from './support/fixture.ts'
import { carryOut, expectNoneFree, type Judged, summaryOf } from './support/table.ts'

/** What a router that serves a fetch by any method may be asked with. */
const OTHER_METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'] as const
/** What tells a server that the method is another than it seems. */
const OVERRIDES = ['X-HTTP-Method-Override: GET', 'X-HTTP-Method: GET', 'X-Method-Override: GET'] as const

let fixture: Fixture
let client: TestClient
const all: Judged[] = []

beforeAll(async () => {
  fixture = await startFixture()
  client = await fixture.stack.addClient('rider')
})

afterAll(async () => {
  await fixture?.stop()
  console.log(summaryOf('Fetches of background responses and batches', all))
})

interface Fetch {
  readonly kind: 'responses' | 'batches'
  readonly method: string
  readonly headers?: readonly string[]
}

/** Each form of the path fetches an object of its own, as a fetch of one counts once. */
async function fetchEach(target: Target, { kind, method, headers = [] }: Fetch): Promise<readonly Judged[]> {
  const ids = await createObjects(fixture.stack.url, target, kind, client.key)
  const path = ids.map((id) => `/v1/${kind}/${id}`)
  const request = { method, path, body: '', key: client.key, headers }
  const judged = await carryOut(fixture, requestsTo(target, request))
  all.push(...judged)
  return judged
}

test.for(
  ALL_ROUTERS.flatMap((router) => (['responses', 'batches'] as const).map((kind) => [router, kind] as const)),
)('%s: what a fetch of %s tells is counted, however its path is written', async ([router, kind]) => {
  const judged = await fetchEach(targetOf(fixture.own, router), { kind, method: 'GET' })
  expectNoneFree(judged)
  expect(judged.find(({ attack: { name } }) => name === 'plain')?.verdict).toBe('counted')
})

test.for(
  ALL_ROUTERS.flatMap((router) => OTHER_METHODS.map((method) => [router, method] as const)),
)('%s: a fetch that is served is counted when its method is %s', async ([router, method]) => {
  expectNoneFree(await fetchEach(targetOf(fixture.own, router), { kind: 'responses', method }))
})

test.for(
  ALL_ROUTERS.flatMap((router) => OVERRIDES.map((header) => [router, header] as const)),
)('%s: a fetch that is served is counted when a header says %s', async ([router, header]) => {
  const sent = { kind: 'responses', method: 'POST', headers: [header] } as const
  expectNoneFree(await fetchEach(targetOf(fixture.own, router), sent))
})
