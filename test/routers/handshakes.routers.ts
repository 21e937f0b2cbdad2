import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient } from '../support/servers/stack.ts'
import { createObjects, handshakesAt, ROUTERS, targetOf } from './support/attacks.ts'
import { type Fixture, startFixture, type Target } from './support/fixture.ts'
import { type Attack, carryOut, expectNoneFree, type Judged, summaryOf } from './support/table.ts'

const REALTIME = '/v1/realtime'

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
  console.log(summaryOf('Fetches of a response by a handshake', fetches))
})

/** A fetch of one response counts once, so each form of the path fetches one of its own. */
async function responsesOf(target: Target): Promise<readonly string[]> {
  const ids = await createObjects(fixture.stack.url, target, 'responses', client.key)
  return ids.map((id) => `/v1/responses/${id}`)
}

async function attack(kept: Judged[], list: readonly Attack[]): Promise<readonly Judged[]> {
  const judged = await carryOut(fixture, list)
  kept.push(...judged)
  expect(judged.find(({ attack: { name } }) => name === 'handshake, plain')?.verdict).toBe('counted')
  return judged
}

test.for(ROUTERS)('%s: a realtime session is counted, however its path is written', async (router) => {
  const target = targetOf(fixture.own, router)
  expectNoneFree(await attack(sessions, handshakesAt(target, { path: REALTIME, key: client.key })))
})

test.for(ROUTERS)('%s: a handshake that is answered as a GET is counted as one', async (router) => {
  const target = targetOf(fixture.handshakes, router)
  const path = await responsesOf(target)
  expectNoneFree(await attack(fetches, handshakesAt(target, { path, key: client.key })))
})

test.for(ROUTERS)('%s: a handshake that is answered as a POST is counted as one', async (router) => {
  const target = targetOf(fixture.gemini, router)
  const path = '/v1beta/models/llama3.1:generateContent'
  expectNoneFree(await carryOut(fixture, handshakesAt(target, { path, key: client.key })))
})
