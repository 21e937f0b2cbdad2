import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestClient } from '../support/servers/stack.ts'
import { ALL_ROUTERS, handshakesAt, requestsTo, targetOf } from './support/attacks.ts'
import { type Fixture, startFixture } from './support/fixture.ts'
import { carryOut, expectNone, type Judged } from './support/table.ts'

const PREFIXES = { Starlette: 'st', Express: 'ex', Go: 'gosrv', nginx: 'ngx', 'nginx with $uri': 'uri' }

describe.for(ALL_ROUTERS)('%s', (router) => {
  let fixture: Fixture
  let client: TestClient

  beforeAll(async () => {
    fixture = await startFixture(PREFIXES[router])
    client = await fixture.stack.addClient('rider')
  })

  afterAll(async () => {
    await fixture?.stop()
  })

  async function attack(method: string, path: string): Promise<readonly Judged[]> {
    const target = { ...targetOf(fixture.own, router), prefix: '' }
    const request = { method, path, body: '', key: client.key }
    return await carryOut(fixture, requestsTo(target, request))
  }

  test.for([
    '/v1/usage',
    '/v1/models',
  ])('no form of %s is answered by the upstream in place of the gateway', async (path) => {
    for (const method of ['GET', 'HEAD']) {
      const judged = await attack(method, path)
      expect(judged.find(({ attack: { name } }) => name === 'plain')?.answer.status).toBe(200)
      expectNone(judged.filter(({ endpoint }) => endpoint !== null))
    }
  })

  test('no handshake at one of the gateway’s own operations is answered by the upstream', async () => {
    const target = { ...targetOf(fixture.own, router), prefix: '' }
    for (const path of ['/v1/usage', '/v1/models']) {
      const judged = await carryOut(fixture, handshakesAt(target, { path, key: client.key }))
      expectNone(judged.filter(({ endpoint }) => endpoint !== null))
    }
  })
})
