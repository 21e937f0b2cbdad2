import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestClient } from '../support/servers/stack.ts'
import { ALL_ROUTERS, handshakesAt, requestsTo, targetOf } from './support/attacks.ts'
import { type Fixture, startFixture, type Target } from './support/fixture.ts'
import { converse, send } from './support/raw-client.ts'
import { type Attack, carryOut, expectNone, expectNoneFree, type Judged, summaryOf } from './support/table.ts'

const ALLOWED = ['gpt-4o-mini', 'llama3.1']
const FORBIDDEN = 'gemini-2.5-pro'
const DECOY = '{"model":"gpt-4o-mini","contents":[]}'

/** Bodies that some parser reads as the forbidden model, and another as an allowed one. */
const BODIES = [
  `{"model":"${FORBIDDEN}"}`,
  `{"model":"gpt-4o-mini","model":"${FORBIDDEN}"}`,
  `{"model":"${FORBIDDEN}","model":"gpt-4o-mini"}`,
  `{"model":"gpt-4o-mini","Model":"${FORBIDDEN}"}`,
  `{"model":"gpt-4o-mini","MODEL":"${FORBIDDEN}"}`,
  `{"Model":"${FORBIDDEN}","model":"gpt-4o-mini"}`,
  `{"Model":"${FORBIDDEN}"}`,
  `{"model":"gpt-4o-mini","mod\\u0065l":"${FORBIDDEN}"}`,
  `{"model":"gpt-4o-mini","\\u004dodel":"${FORBIDDEN}"}`,
  `{"model":"gpt-4o-mini"}{"model":"${FORBIDDEN}"}`,
  `{"model":"gpt-4o-mini"} ,"model":"${FORBIDDEN}"}`,
  `\ufeff{"model":"${FORBIDDEN}"}`,
  ` \n{"model":"${FORBIDDEN}"}`,
  `{"x":"\\"model\\":\\"gpt-4o-mini\\"","model":"${FORBIDDEN}"}`,
  `{"x":{"model":"gpt-4o-mini"},"model":"${FORBIDDEN}"}`,
  `{"model":{"model":"gpt-4o-mini"},"model":"${FORBIDDEN}"}`,
  `{"model":null,"model":"${FORBIDDEN}"}`,
  `{"model":"gpt-4o-mini\\u0000","model":"${FORBIDDEN}"}`,
  `{"model":"gemini\\u002d2.5-pro"}`,
  `[{"model":"gpt-4o-mini"},{"model":"${FORBIDDEN}"}]`,
]

/** Headers under which a reader may look away from a body, or take it for another. */
const HEADERS = [
  [],
  ['Content-Encoding: Identity'],
  ['Content-Encoding: x'],
  ['X-HTTP-Method-Override: GET'],
  ['X-Original-URL: /v1/models'],
]

/** Queries of a handshake that name two models, or one in a way that not all read alike. */
const QUERIES = [
  `model=${FORBIDDEN}`,
  `model=gpt-4o-mini&model=${FORBIDDEN}`,
  `model=${FORBIDDEN}&model=gpt-4o-mini`,
  `model=gpt-4o-mini&mod%65l=${FORBIDDEN}`,
  `mod%65l=${FORBIDDEN}`,
  `model=gpt-4o-mini;model=${FORBIDDEN}`,
  `model=${FORBIDDEN};&model=gpt-4o-mini`,
  `model[]=${FORBIDDEN}&model=gpt-4o-mini`,
  `model%5b%5d=${FORBIDDEN}&model=gpt-4o-mini`,
  `model=gpt-4o-mini&model%00=${FORBIDDEN}`,
  `+model=gpt-4o-mini&model=${FORBIDDEN}`,
  `model=gpt-4o-mini%26model=${FORBIDDEN}`,
  `model=gpt-4o-mini?model=${FORBIDDEN}`,
  `?model=gpt-4o-mini&model=${FORBIDDEN}`,
  `x#&model=gpt-4o-mini&model=${FORBIDDEN}`,
  `model=%67emini-2.5-pro`,
  `model=&model=${FORBIDDEN}`,
  `model=${FORBIDDEN}&model=`,
  `model&model=${FORBIDDEN}`,
  `model=gpt-4o-mini&&model=${FORBIDDEN}`,
  `model=%zz&model=${FORBIDDEN}`,
  `model=gpt-4o-mini&model=%zz${FORBIDDEN}`,
  '',
]

let fixture: Fixture
let client: TestClient
const all: Judged[] = []

beforeAll(async () => {
  fixture = await startFixture()
  client = await fixture.stack.addClient('restricted', { models: ALLOWED })
})

afterAll(async () => {
  await fixture?.stop()
  console.log(summaryOf('Keys with a list of models', all))
})

async function attack(list: readonly Attack[]): Promise<readonly Judged[]> {
  const judged = await carryOut(fixture, list)
  all.push(...judged)
  return judged
}

/** Fails with the calls of models that the key is not for, whatever became of them otherwise. */
function expectOnlyAllowed(judged: readonly Judged[]): void {
  expectNoneFree(judged)
  const beyond = judged.filter(({ model }) => model !== null && !ALLOWED.includes(model))
  expectNone(beyond)
}

function bodiesTo(target: Target, path: string): Attack[] {
  return BODIES.flatMap((body) =>
    HEADERS.map((headers) => {
      const request = (prefix: string, more: readonly string[]) => ({
        method: 'POST',
        target: `${prefix}${path}`,
        headers: [...headers, ...more],
        body,
      })
      return {
        name: `body of ${path}`,
        target,
        shown: `${headers} ${body}`,
        send: (url, probe) =>
          send(url, request(target.prefix, [`x-probe: ${probe}`, `Authorization: Bearer ${client.key}`])),
        sendDirectly: (url, probe) => send(url, request('', [`x-probe: ${probe}`])),
      } satisfies Attack
    }),
  )
}

function queriesAt(target: Target): Attack[] {
  return QUERIES.map((query) => {
    const path = `/v1/realtime?${query}`
    return {
      name: 'query of a handshake',
      target,
      shown: path,
      send: (url, probe) =>
        converse(url, `${target.prefix}${path}`, [
          `x-probe: ${probe}`,
          `Authorization: Bearer ${client.key}`,
        ]),
      sendDirectly: (url, probe) => converse(url, path, [`x-probe: ${probe}`]),
    }
  })
}

test.for(ALL_ROUTERS)('%s: an allowed model is served and counted', async (router) => {
  for (const model of ALLOWED) {
    const chat = { path: '/v1/chat/completions', body: JSON.stringify({ model }) }
    const [plain] = requestsTo(targetOf(fixture.own, router), { method: 'POST', key: client.key, ...chat })
    const judged = await attack(plain === undefined ? [] : [plain])
    expect(judged.map((one) => [one.verdict, one.model])).toEqual([['counted', model]])
  }
})

test.for(
  ALL_ROUTERS.flatMap((router) => (['own', 'gemini'] as const).map((read) => [router, read] as const)),
)('%s (%s): no form of a path takes a decoy in the body for the model', async ([router, read]) => {
  const target = targetOf(fixture[read], router)
  const asked = { path: `/v1beta/models/${FORBIDDEN}:generateContent`, body: DECOY, key: client.key }
  const judged = await attack(requestsTo(target, { method: 'POST', ...asked }))
  expectOnlyAllowed(judged)
  expectNone(judged.filter(({ seen }) => seen))
  expect(new Set(judged.map(({ answer }) => answer.status))).toEqual(new Set([400, 403]))
})

test.for(ALL_ROUTERS)('%s: no method takes a path past the list', async (router) => {
  const target = targetOf(fixture.gemini, router)
  const methods = ['GET', 'PUT', 'PATCH', 'HEAD', 'DELETE', 'OPTIONS', 'QUERY', 'TRACE']
  const path = `/v1beta/models/${FORBIDDEN}:generateContent`
  const requests = methods.flatMap((method) =>
    ['', DECOY].flatMap((body) => requestsTo(target, { method, path, body, key: client.key })),
  )
  expectOnlyAllowed(await attack(requests))
})

test.for(ALL_ROUTERS)('%s: no body takes another model past the list', async (router) => {
  const target = targetOf(fixture.own, router)
  expectOnlyAllowed(await attack(bodiesTo(target, '/v1/chat/completions')))
  expectOnlyAllowed(await attack(bodiesTo(target, '/v1/chat/completion%73')))
})

test.for(ALL_ROUTERS)('%s: no handshake takes another model past the list', async (router) => {
  const target = targetOf(fixture.own, router)
  expectOnlyAllowed(await attack(queriesAt(target)))
  const forms = handshakesAt(target, { path: `/v1/realtime?model=${FORBIDDEN}`, key: client.key })
  expectOnlyAllowed(await attack(forms))
})
