import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ERRORS } from '../../../src/http/errors.ts'
import { renameClient } from '../../../src/keys/clients.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../../support/upstream.ts'
import { exchange, requestText } from '../raw-http.ts'

let upstream: TestUpstream
let folder: string
let stack: TestStack
let plain: TestClient
let trusted: TestClient
let strict: TestClient

beforeAll(async () => {
  upstream = await startUpstream()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-'))
  const file = join(folder, 'tallygate.yaml')
  await writeFile(
    file,
    `upstreams:
  - name: local
    url: ${upstream.url}
    provider: ollama
    path_prefix: /local
    paths:
      allow: ['POST /api/pull']
      deny: ['/api/secret/**', 'POST /v1/chat/completions']
      unknown: refuse
  - { name: cloudflare, url: '${upstream.url}', provider: cloudflare, path_prefix: /cloudflare }
  - { name: cloudflares, url: '${upstream.url}/v1/a/b', provider: cloudflare, path_prefix: /cloudflares }
  - { name: account, url: '${upstream.url}/v1/a/', provider: cloudflare, path_prefix: /account }
  - { name: behind, url: '${upstream.url}/cf/v1/a/b', provider: cloudflare, path_prefix: /behind }
  - { name: proxied, url: '${upstream.url}/proxy', provider: cloudflare, path_prefix: /proxied }
  - { name: maker, url: '${upstream.url}/v1/a/b/openai', provider: cloudflare, path_prefix: /maker }
  - name: lifted
    url: '${upstream.url}/v1/a/b'
    provider: cloudflare
    path_prefix: /lifted
    paths: { allow: ['POST /'] }
paths:
  deny: ['DELETE /v1/files/*']
  keys:
    - { client: trusted, allow: ['/v1/organization/**', 'DELETE /v1/files/*'] }
    - { client: suspended, deny: ['**'] }
    - { client: strict, deny: ['**'], allow: ['POST /v1/chat/completions'], unknown: refuse }
`,
  )
  stack = await startStack(upstream.url, { env: { TALLYGATE_CONFIG: file } })
  plain = await stack.addClient('plain')
  trusted = await stack.addClient('trusted')
  strict = await stack.addClient('strict')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
  await rm(folder, { recursive: true, force: true })
})

beforeEach(() => {
  upstream.requests.length = 0
})

async function ask(client: TestClient, method: string, target: string, body: string | null = null) {
  const length = body === null ? [] : ['Content-Type: application/json', `Content-Length: ${body.length}`]
  const request = requestText(target, [`Authorization: Bearer ${client.key}`, ...length], method)
  const answer = await exchange(stack.url, request + (body ?? ''))
  if (answer.status < 300) return [answer.status, null]
  const { error } = JSON.parse(answer.body.toString())
  // As Ollama writes it.
  return [answer.status, error === ERRORS.path_not_allowed.message ? 'path_not_allowed' : error?.code]
}

const PASSES = [200, null]
const REFUSED = [403, 'path_not_allowed']

test.each([
  ['POST', '/v1/realtime/client_secrets'],
  ['POST', '/v1/realtime/sessions'],
  ['POST', '/v1/realtime/calls'],
  ['GET', '/v1/organization/usage/completions'],
  ['POST', '/v1/organization/admin_api_keys'],
  ['DELETE', '/v1/models/ft:mine'],
  ['POST', '/V1/Realtime/client_secrets'],
  ['POST', '/v1/realtime/client%5Fsecrets'],
  ['POST', '/v1//realtime/./client_secrets;x/'],
  ['PUT', '/v1/realtime/client_secrets'],
])('%s %s, which takes the spend past the gateway, goes nowhere', async (method, target) => {
  expect(await ask(plain, method, target, method === 'GET' ? null : '{}')).toEqual(REFUSED)
  expect(upstream.requests).toEqual([])
})

const UPGRADE = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']

async function statusOfSession(target: string): Promise<number> {
  const key = [`Authorization: Bearer ${plain.key}`, 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==']
  return (await exchange(stack.url, requestText(target, [...key, ...UPGRADE], 'GET'))).status
}

test("Cloudflare's endpoint for requests to any path of any maker is refused, wherever the upstream begins", async () => {
  const body = JSON.stringify([{ provider: 'openai', endpoint: 'realtime/client_secrets', query: {} }])
  for (const target of [
    ...['/cloudflare/v1/a/b', '/cloudflare/v1/a/b/', '/cloudflares', '/cloudflares/'],
    ...['/account/b', '/account/b/', '/account/%62', `/account/${'./'.repeat(2_000)}b`],
    ...['/behind', '/behind/', '/proxied/v1/a/b'],
    // A gateway may have the name of an endpoint.
    ...['/account/responses', `/cloudflare/v1/${'0a'.repeat(16)}/embeddings`],
  ])
    for (const method of ['POST', 'PUT'])
      expect([target, await ask(plain, method, target, body)]).toEqual([target, REFUSED])
  for (const target of ['/cloudflare/v1/a/b', '/cloudflares', '/account/b'])
    expect([target, await statusOfSession(target)]).toEqual([target, 403])
  expect(upstream.requests).toEqual([])
  expect(await ask(plain, 'GET', '/cloudflares')).toEqual(PASSES)
  expect(await ask(plain, 'POST', '/lifted', body)).toEqual(PASSES)
})

test("a maker's paths behind Cloudflare's gateway pass, which look like its own below the upstream's address", async () => {
  for (const path of [
    ...['/v1/messages/batches', '/v1/text-to-speech/voice', '/v1/fine_tuning/jobs', '/v1/threads/runs'],
    ...['/v1/conversations/conv_1', '/v1/vector_stores/vs_1', '/v1/assistants/asst_1', '/chat/completions'],
  ])
    for (const prefix of ['/maker', '/cloudflares/openai', '/account/b/openai', '/cloudflare/v1/a/b/openai'])
      expect([prefix, path, await ask(plain, 'POST', `${prefix}${path}`, '{}')]).toEqual([
        prefix,
        path,
        PASSES,
      ])
  expect(await statusOfSession('/maker?model=gpt-realtime')).not.toBe(403)
  // A Worker of one's own.
  for (const prefix of ['/cloudflare', '/proxied'])
    expect([prefix, await ask(plain, 'POST', `${prefix}/v1/chat/completions`, '{}')]).toEqual([
      prefix,
      PASSES,
    ])
  expect(await ask(plain, 'POST', '/maker/v1/realtime/client_secrets', '{}')).toEqual(REFUSED)
})

test('a body makes a request of any method one that may change something', async () => {
  expect(await ask(plain, 'GET', '/v1/realtime/client_secrets', '{}')).toEqual(REFUSED)
})

test("an upstream's own rules lift what is refused and refuse more, for its provider's paths", async () => {
  expect(await ask(plain, 'POST', '/local/api/pull', '{}')).toEqual(PASSES)
  expect(await ask(plain, 'DELETE', '/local/api/delete', '{}')).toEqual(REFUSED)
  expect(await ask(plain, 'GET', '/local/api/secret/x')).toEqual(REFUSED)
  expect(await ask(plain, 'GET', '/local/api/secret')).toEqual(PASSES)
  expect(await ask(plain, 'POST', '/local/v1/chat/completions', '{}')).toEqual(REFUSED)
  expect(await ask(plain, 'POST', '/v1/chat/completions', '{}')).toEqual(PASSES)
})

test('paths that no dialect reads pass or are refused, as the narrowest rule says', async () => {
  expect(await ask(plain, 'POST', '/v1/unheard/of', '{}')).toEqual(PASSES)
  expect(await ask(plain, 'POST', '/local/v1/unheard/of', '{}')).toEqual(REFUSED)
  expect(await ask(plain, 'GET', '/local/v1/unheard/of')).toEqual(PASSES)
})

test("a key's rules go before all others", async () => {
  expect(await ask(plain, 'DELETE', '/v1/files/file-1')).toEqual(REFUSED)
  expect(await ask(trusted, 'DELETE', '/v1/files/file-1')).toEqual(PASSES)
  expect(await ask(trusted, 'GET', '/v1/organization/costs')).toEqual(PASSES)
  expect(await ask(trusted, 'POST', '/v1/realtime/client_secrets', '{}')).toEqual(REFUSED)
  expect(await ask(strict, 'POST', '/v1/chat/completions', '{}')).toEqual(PASSES)
  expect(await ask(strict, 'POST', '/local/v1/chat/completions', '{}')).toEqual(PASSES)
  expect(await ask(strict, 'POST', '/v1/embeddings', '{}')).toEqual(REFUSED)
  expect(await ask(strict, 'GET', '/v1/files')).toEqual(REFUSED)
})

test('a refused call is none: it is not counted', async () => {
  const client = await stack.addClient('refused')
  await ask(client, 'POST', '/v1/realtime/client_secrets', '{}')
  await ask(client, 'POST', '/v1/chat/completions', '{"model":"gpt-4o-mini"}')
  expect(await stack.usageOf(client, 1)).toMatchObject({ requests: 1 })
})

test('a key that has called gets the rules of its client’s new name', async () => {
  const renamed = await stack.addClient('before')
  const statusOf = async () => {
    const headers = { authorization: `Bearer ${renamed.key}` }
    return (await fetch(`${stack.url}/v1/files/file-1`, { headers })).status
  }
  const before = await statusOf()
  expect(before).not.toBe(403)
  await renameClient(stack.pool, renamed.id, 'suspended')
  await expect.poll(statusOf).toBe(403)
})
