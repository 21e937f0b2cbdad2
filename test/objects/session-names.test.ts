import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'

/** Each POST makes the object that it asks for; each message of a session is kept, and answered. */
const heard: string[] = []
const made = new Map<string, object>()
let responses = 0
/** What came of the last session. */
let lastBytes: Buffer = Buffer.alloc(0)
const upstream = createServer((request, response) => {
  let text = ''
  request.on('data', (chunk) => {
    text += chunk
  })
  request.on('end', () => {
    const { url = '' } = request
    const { make = made.get(url) ?? {} } = request.method === 'POST' ? JSON.parse(text) : {}
    if (typeof make.name === 'string') made.set(`${url.split('/projects/')[0]}/${make.name}`, make)
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ data: [], ...make }))
  })
})
const sockets = new WebSocketServer({ noServer: true })
upstream.on('upgrade', (request, socket, head) =>
  sockets.handleUpgrade(request, socket, head, (accepted) => {
    lastBytes = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => {
      lastBytes = Buffer.concat([lastBytes, bytes])
    })
    accepted.on('message', (message) => {
      heard.push(String(message))
      responses += 1
      const id = `resp_session${responses}`
      const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
      const created = { id, model: 'gpt-4o-mini', status: 'in_progress', usage: null }
      accepted.send(JSON.stringify({ type: 'response.created', response: created }))
      accepted.send(
        JSON.stringify({ type: 'response.completed', response: { ...created, status: 'completed', usage } }),
      )
    })
  }),
)
let folder: string
let stack: TestStack
let acme: TestClient
let beta: TestClient

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-session-names-'))
  const config = join(folder, 'upstreams.yaml')
  const named = ['openai', 'vertex'].map(
    (name) =>
      `  - { name: ${name}, url: 'http://127.0.0.1:${port}', provider: ${name}, path_prefix: /${name} }\n`,
  )
  await writeFile(config, `upstreams:\n${named.join('')}`)
  stack = await startStack('', { env: { UPSTREAM_PROVIDER: '', TALLYGATE_CONFIG: config } })
  ;[acme, beta] = await Promise.all([stack.addClient('acme'), stack.addClient('beta')])
})

afterAll(async () => {
  await stack?.stop()
  for (const socket of sockets.clients) socket.terminate()
  upstream.closeAllConnections()
  upstream.close()
  await rm(folder, { recursive: true, force: true })
})

async function make(path: string, document: object): Promise<void> {
  const answer = await fetch(stack.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${acme.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ make: document }),
  })
  expect(answer.status).toBe(200)
}

/** Gives the status. The upstream answers with what was made at this path, if anything was. */
async function readBy(client: TestClient, path: string): Promise<number> {
  const { status } = await fetch(stack.url + path, { headers: { authorization: `Bearer ${client.key}` } })
  return status
}

/** A session in which the client says `said`. Gives the code with which it was closed, and the answers before that. */
async function hold(client: TestClient, path: string, said: readonly (object | string)[]) {
  const webSocket = new WebSocket(`${stack.url.replace('http', 'ws')}${path}`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  const answers: string[] = []
  const closed = once(webSocket, 'close')
  webSocket.on('message', (message) => {
    answers.push(String(message))
    if (answers.length === 2 * said.length) webSocket.close(1000)
  })
  await once(webSocket, 'open')
  for (const message of said) webSocket.send(typeof message === 'string' ? message : JSON.stringify(message))
  const [code] = (await closed) as [number]
  return { code, answers }
}

const LIVE = '/vertex/ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent'
const PLACE = 'projects/p/locations/eu'
const RESPONSES = '/openai/v1/responses'
const ask = (fields: object) => ({ type: 'response.create', model: 'gpt-4o-mini', input: 'hi', ...fields })
const FILLER = 'x'.repeat(3_000_000)

test.each([
  ['the endpoint of its setup', [{ setup: { model: `${PLACE}/endpoints/ENDPOINT` } }]],
  [
    'a file of a later message',
    [
      { setup: { model: 'models/gemini-made' } },
      { clientContent: { turns: [{ parts: [{ fileData: { fileUri: 'FILE' } }] }] } },
    ],
  ],
])('a Live session uses %s only if that is its client’s', async (_, written) => {
  const nr = `${heard.length}${Date.now()}`
  const endpoint = `77${nr}`
  const tuned = {
    name: `${PLACE}/tuningJobs/${nr}`,
    state: 'JOB_STATE_SUCCEEDED',
    tunedModel: { endpoint: `${PLACE}/endpoints/${endpoint}` },
  }
  await make(`/vertex/v1/${PLACE}/cachedContents`, { name: `${PLACE}/cachedContents/${nr}` })
  await make(`/vertex/v1/${PLACE}/tuningJobs`, tuned)
  const text = JSON.stringify(written)
    .replace('ENDPOINT', endpoint)
    .replace('FILE', `${PLACE}/cachedContents/${nr}`)
  const said = JSON.parse(text) as object[]
  await readBy(acme, `/vertex/v1/${tuned.name}`)
  const before = heard.length
  expect((await hold(beta, LIVE, said)).code).toBe(1008)
  await expect.poll(() => heard.length).toBe(before + said.length - 1)
  expect((await hold(acme, LIVE, said)).code).toBe(1000)
  expect(heard.length).toBe(before + 2 * said.length - 1)
})

test.each([
  ['flat', ask({ previous_response_id: 'resp_made1' })],
  ['within `response`', { type: 'response.create', response: ask({ conversation: { id: 'resp_made1' } }) }],
  ['in escapes', `{"type":"response.create","previous\\u005fresponse_id":"\\u0072esp_made1"}`],
  ['behind 3 MB', ask({ input: FILLER, previous_response_id: 'resp_made1' })],
  ['behind others', ask({ tools: [{ type: 'file_search', vector_store_ids: ['resp_made1'] }] })],
])('a message of a Responses session names only what is its client’s: %s', async (name, message) => {
  await make(RESPONSES, { id: 'resp_made1', status: 'completed' })
  // The first has to wait for what the store knows of its name.
  const others = [ask({ previous_response_id: 'resp_nobodys0' }), ask({})]
  const said = name === 'behind others' ? [...others, message] : [message]
  const before = heard.length
  const refused = await hold(beta, RESPONSES, said)
  expect(refused.code).toBe(1008)
  await expect.poll(() => heard.length).toBe(before + said.length - 1)
  expect((await hold(acme, RESPONSES, said)).code).toBe(1000)
  expect(heard.length).toBe(before + 2 * said.length - 1)
})

test('what a Responses session makes is its client’s, over HTTP and in other sessions', async () => {
  await hold(acme, RESPONSES, [ask({}), ask({})])
  const ids = [responses - 1, responses].map((nr) => `resp_session${nr}`)
  for (const id of ids) {
    const path = `${RESPONSES}/${id}`
    expect([await readBy(beta, path), await readBy(acme, path)]).toEqual([404, 200])
    expect((await hold(beta, RESPONSES, [ask({ previous_response_id: id })])).code).toBe(1008)
    expect((await hold(acme, RESPONSES, [ask({ previous_response_id: id })])).code).toBe(1000)
  }
})

test('a message that names what no client made goes on, once its owner was looked for, in its place', async () => {
  const before = heard.length
  const said = [1, 2, 3].map((nr) => ask({ previous_response_id: `resp_nobodys${nr}`, input: String(nr) }))
  expect((await hold(beta, RESPONSES, said)).code).toBe(1000)
  expect(heard.slice(before).map((text) => JSON.parse(text))).toEqual(said)
})

test('messages of 4 MB go on whole, whatever the upstream takes at once', async () => {
  const said = [ask({ input: FILLER }), ask({ input: FILLER })]
  const before = heard.length
  expect((await hold(beta, RESPONSES, said)).code).toBe(1000)
  expect(heard.slice(before).map((text) => text.length)).toEqual(
    said.map((one) => JSON.stringify(one).length),
  )
})

test('the gateway does not end a message that it refuses, with a close frame neither', async () => {
  await make(RESPONSES, { id: 'resp_made2', status: 'completed' })
  // A space may be replaced by what comes behind it.
  const text = Buffer.from(`${JSON.stringify(ask({ previous_response_id: 'resp_made2' }))} `)
  const frame = Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text])
  const socket = connect(Number(new URL(stack.url).port), '127.0.0.1')
  const closed = once(socket, 'close')
  socket.write(
    `GET ${RESPONSES} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${beta.key}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  )
  await once(socket, 'data')
  socket.write(frame.subarray(0, -1))
  await expect.poll(() => lastBytes).toEqual(frame.subarray(0, -1))
  socket.end(frame.subarray(-1))
  socket.resume()
  await closed
  await expect.poll(() => sockets.clients.size).toBe(0)
  expect(lastBytes).toEqual(frame.subarray(0, -1))
})
