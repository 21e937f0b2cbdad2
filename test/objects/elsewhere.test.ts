import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { loadGatewayConfig } from '../../src/config/config.ts'
import { type RunningGateway, runGateway } from '../../src/gateway/run-gateway.ts'
import { createLog } from '../../src/lib/log.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { quiet } from '../rollup/records.ts'
import { startPrivatePostgres, type TestServer } from '../support/servers/servers.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { type ObjectUpstream, startObjectUpstream } from './object-upstream.ts'

let postgres: TestServer
let upstream: ObjectUpstream
let stack: TestStack
let otherFolder: string
let other: RunningGateway
let acme: TestClient
let beta: TestClient

beforeAll(async () => {
  ;[postgres, upstream] = await Promise.all([startPrivatePostgres(), startObjectUpstream()])
  await migrate(postgres.url, quiet)
  stack = await startStack(upstream.url, { databaseUrl: postgres.url })
  otherFolder = await mkdtemp(join(tmpdir(), 'tallygate-test-other-'))
  const config = loadGatewayConfig({ ...stack.env, JOURNAL_DIR: otherFolder })
  other = await runGateway(config, createLog('silent', 'test'))
  ;[acme, beta] = await Promise.all([stack.addClient('acme'), stack.addClient('beta')])
})

afterAll(async () => {
  await other?.stop()
  await stack?.stop()
  await Promise.all([upstream?.close(), postgres?.stop()])
  await rm(otherFolder, { recursive: true, force: true })
})

const here = () => stack.url
const there = () => `http://127.0.0.1:${other.address.port}`

async function ask(
  base: string,
  client: TestClient,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(base + path, {
    method,
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: answer.status, text: await answer.text() }
}

async function make(base: string, client: TestClient, path: string): Promise<string> {
  const { text } = await ask(base, client, 'POST', path, {})
  return (JSON.parse(text) as { id: string }).id
}

test('what is made through one gateway is known to be its maker’s at another', async () => {
  const id = await make(here(), acme, '/v1/files')
  await stack.usageOf(acme, 1)
  expect((await ask(there(), beta, 'GET', `/v1/files/${id}`)).status).toBe(404)
  expect((await ask(there(), beta, 'GET', '/v1/files')).text).not.toContain(id)
  expect((await ask(there(), beta, 'POST', '/v1/batches', { input_file_id: id })).status).toBe(404)
  expect((await ask(there(), acme, 'GET', '/v1/files')).text).toContain(id)
  expect((await ask(there(), acme, 'DELETE', `/v1/files/${id}`)).status).toBe(200)
})

test('a WebSocket handshake that names another’s object, or asks for a list, is refused', async () => {
  const id = await make(here(), acme, '/v1/conversations')
  const before = upstream.asked.length
  // Some servers answer the handshake of a path without sessions as the GET that it is: a list, or an object.
  for (const path of [`/v1/realtime?conversation=${id}`, `/v1/conversations/${id}`, '/v1/conversations']) {
    const socket = new WebSocket(`${here().replace('http', 'ws')}${path}`, {
      headers: { authorization: `Bearer ${beta.key}` },
    })
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }]
    expect(answer.statusCode).toBe(404)
  }
  expect(upstream.asked.length).toBe(before)
})

test('with Postgres away own objects made here are used, and nothing is shown whose owner is unknown', async () => {
  const mine = await make(here(), acme, '/v1/files')
  const elsewhere = await make(there(), acme, '/v1/files')
  await postgres.kill()
  const before = upstream.asked.length
  expect((await ask(here(), beta, 'GET', `/v1/files/${mine}`)).status).toBe(404)
  const unknown = await ask(here(), beta, 'GET', `/v1/files/${elsewhere}`)
  expect(unknown.status).toBe(503)
  expect(unknown.text).toContain('storage_unavailable')
  expect(upstream.asked.length).toBe(before)
  expect((await ask(here(), acme, 'GET', `/v1/files/${mine}`)).status).toBe(200)
  // The list holds what only the other gateway made.
  expect((await ask(here(), beta, 'GET', '/v1/files')).status).toBe(503)
  const chat = { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Hi' }] }
  expect((await ask(here(), beta, 'POST', '/v1/chat/completions', chat)).status).toBe(200)
  await postgres.start()
  await expect.poll(async () => (await ask(here(), acme, 'GET', '/v1/files')).text).toContain(elsewhere)
})
