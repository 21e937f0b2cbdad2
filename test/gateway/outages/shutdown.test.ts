import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { busyness } from '../../support/patience.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { CHAT_USAGE, event } from '../../support/upstream.ts'
import { type GatewayProcess, startGatewayProcess } from '../gateway-process.ts'
import { dial, requestText } from '../raw-http.ts'

const GRACE_MS = 1_000
const STREAMED = '{"model":"gpt-4o-mini","stream":true,"messages":[{"role":"user","content":"Say hello."}]}'

let answer: (response: ServerResponse) => void
const upstream = createServer((request, response) => {
  request.resume()
  if (request.url === '/v1/models') response.end('{"data":[]}')
  else answer(response)
})
const sockets = new WebSocketServer({ server: upstream })
let stack: TestStack

beforeAll(async () => {
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  stack = await startStack(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}`)
})

afterAll(async () => {
  await stack?.stop()
  for (const socket of sockets.clients) socket.terminate()
  upstream.closeAllConnections()
  upstream.close()
})

/** A gateway process beside the stack's own, which adopts what Redis did not take within the process's last seconds. */
async function start(): Promise<GatewayProcess> {
  return await startGatewayProcess({ ...stack.env, SHUTDOWN_GRACE_MS: `${GRACE_MS}` })
}

function stream(url: string, client: TestClient): Promise<Response> {
  return fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: STREAMED,
  })
}

const delta = event({ choices: [{ index: 0, delta: { content: 'Hello' } }] })

test('SIGTERM: a running stream ends whole, idle connections are closed, new ones refused, exit 0', async () => {
  const client = await stack.addClient('graceful')
  const gateway = await start()
  const idle = dial(gateway.url)
  idle.write(requestText('/healthz').replace('Connection: close', 'Connection: keep-alive'))
  await once(idle, 'data')
  const answering = new Promise<ServerResponse>((resolve) => {
    answer = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(delta)
      resolve(response)
    }
  })
  const running = await stream(gateway.url, client)
  const idleClosed = once(idle.resume(), 'close')
  gateway.child.kill('SIGTERM')
  await idleClosed
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow()
  const response = await answering
  response.write(event({ choices: [], usage: CHAT_USAGE }))
  response.end('data: [DONE]\n\n')
  expect(await running.text()).toMatch(/Hello.*\[DONE\]\n\n$/s)
  expect(await gateway.exited).toBe(0)
  await stack.usageOf(client, 1)
  expect(await stack.calls(client)).toMatchObject([
    { outcome: 'complete', usage_source: 'reported', input_tokens: '11', output_tokens: '7' },
  ])
})

test('SIGTERM: a stream and a WebSocket that do not end are cut after the grace, each with its record', async () => {
  const client = await stack.addClient('endless')
  const gateway = await start()
  answer = (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(delta)
  }
  const running = await stream(gateway.url, client)
  const webSocket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/anything`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  await once(webSocket, 'open')
  const closed = once(webSocket, 'close')
  const cut = expect(running.text()).rejects.toThrow()
  const startedAt = performance.now()
  gateway.child.kill('SIGTERM')
  await cut
  expect((await closed)[0]).toBe(1001)
  expect(performance.now() - startedAt).toBeGreaterThan(GRACE_MS - 50)
  expect(await gateway.exited).toBe(0)
  expect(performance.now() - startedAt).toBeLessThan((GRACE_MS + 15_000) * busyness())
  await stack.usageOf(client, 2)
  const calls = await stack.calls(client)
  expect(calls.map(({ outcome, status }) => [outcome, status]).sort()).toEqual([
    ['client_aborted', 101],
    ['client_aborted', 200],
  ])
  expect(calls.find(({ status }) => status === 200)).toMatchObject({
    usage_source: 'estimated',
    // By its length where the thread that counts did not start in time.
    output_tokens: expect.stringMatching(/^[12]$/),
  })
})
