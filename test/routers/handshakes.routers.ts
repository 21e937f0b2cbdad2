import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient } from '../support/stack.ts'
import { handshakesAt, ROUTERS, requestsTo, targetOf } from './support/attacks.ts'
import { type Fixture, startFixture } from './support/fixture.ts'
import { type Attack, carryOut, expectNoneFree, type Judged, summaryOf } from './support/table.ts'

const REALTIME = '/v1/realtime'
/** A fetch of one response counts once, so each form fetches one of its own. */
const FETCH = '/v1/responses/resp_{n}'

let fixture: Fixture
let client: TestClient
const sessions: Judged[] = []
const fetches: Judged[] = []

beforeAll(async () => {
  fixture = await startFixture()
  client = await fixture.stack.addClient('rider')
})

afterAll(async () => {
  await fixture?.stop()
  console.log(summaryOf('WebSocket sessions', sessions))
  console.log(summaryOf('Fetches of a response, as handshakes and plain', fetches))
})

async function attack(kept: Judged[], list: readonly Attack[]): Promise<readonly Judged[]> {
  const judged = await carryOut(fixture, list)
  kept.push(...judged)
  expect(judged.find(({ attack: { name } }) => name.endsWith(', plain'))?.verdict).toBe('counted')
  return judged
}

test.for(ROUTERS)('%s: a realtime session is counted, however its path is written', async (router) => {
  const target = targetOf(fixture.own, router)
  expectNoneFree(await attack(sessions, handshakesAt(target, { path: REALTIME, key: client.key })))
})

test.for(ROUTERS)('%s: a handshake that is answered as a GET is counted as one', async (router) => {
  const target = targetOf(fixture.handshakes, router)
  expectNoneFree(await attack(fetches, handshakesAt(target, { path: FETCH, key: client.key })))
})

test.for(ROUTERS)('%s: a fetched response is counted, however its path is written', async (router) => {
  const request = { method: 'GET', path: FETCH, body: '', key: client.key }
  expectNoneFree(await attack(fetches, requestsTo(targetOf(fixture.own, router), request)))
})
