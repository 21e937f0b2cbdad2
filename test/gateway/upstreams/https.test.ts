import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import { exchange, requestText } from '../raw-http.ts'

const CERT_FILE = fileURLToPath(new URL('../../fixtures/tls/cert.pem', import.meta.url))
const KEY_FILE = fileURLToPath(new URL('../../fixtures/tls/key.pem', import.meta.url))
const ca = readFileSync(CERT_FILE)

const { stack } = await startOwnStack({ env: { TLS_CERT_FILE: CERT_FILE, TLS_KEY_FILE: KEY_FILE } })
const client = await stack.addClient('secure')

function ask(method: string, path: string, body = ''): Promise<[number, string]> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' }
    const sent = request(stack.url + path, { method, ca, headers }, async (answer) => {
      resolve([answer.statusCode ?? 0, await text(answer)])
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

test('a gateway with a certificate serves HTTPS, metered as ever', async () => {
  expect(stack.url).toMatch(/^https:/)
  const [status, body] = await ask('POST', '/v1/chat/completions', '{"model":"gpt-4o-mini","messages":[]}')
  expect([status, JSON.parse(body)]).toMatchObject([200, { object: 'chat.completion' }])
  await expect
    .poll(async () => JSON.parse((await ask('GET', '/v1/usage'))[1]))
    .toMatchObject({ client: 'secure', requests: 1, input_tokens: 11, output_tokens: 7 })
})

test('a refused WebSocket handshake is answered inside TLS', async () => {
  const socket = new WebSocket(`${stack.url.replace('https', 'wss')}/v1/realtime`, { ca })
  const refusal = await new Promise((resolve) => {
    socket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode))
  })
  expect(refusal).toBe(401)
})

test('plain HTTP on the port is not answered with anything', async () => {
  const { bytes } = await exchange(
    stack.url,
    requestText('/v1/usage', [`Authorization: Bearer ${client.key}`]),
  )
  expect(bytes.toString()).not.toContain('secure')
})

test('a connection that never completes its TLS handshake is closed after a few seconds', async () => {
  const { hostname, port } = new URL(stack.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {}) // closed is closed
  await once(socket.resume(), 'close')
})
