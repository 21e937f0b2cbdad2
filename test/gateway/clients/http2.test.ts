import type { ClientHttp2Session } from 'node:http2'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { setLimits } from '../../../src/limits/table/change-limits.ts'
import { openSession, send } from '../../http/http2/front.ts'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { chatAnswer, startUpstream, type TestUpstream } from '../../support/upstream.ts'

const TLS = {
  TLS_CERT_FILE: fileURLToPath(new URL('../../fixtures/tls/cert.pem', import.meta.url)),
  TLS_KEY_FILE: fileURLToPath(new URL('../../fixtures/tls/key.pem', import.meta.url)),
}
const CHAT = '{"model":"gpt-4o-mini","messages":[]}'
const STREAM = '{"model":"gpt-4o-mini","messages":[],"stream":true,"stream_options":{"include_usage":true}}'

const BODY_LIMIT = 100_000

let upstream: TestUpstream

beforeAll(async () => {
  upstream = await startUpstream()
})

afterAll(async () => {
  await upstream?.close()
})

beforeEach(() => {
  upstream.answer(chatAnswer)
})

describe.each([
  ['by prior knowledge', {}],
  ['by TLS', TLS],
])('HTTP/2 %s', (_how, env) => {
  let stack: TestStack
  let client: TestClient
  let session: ClientHttp2Session

  beforeAll(async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
    stack = await startStack(upstream.url, { env: { ...env, BODY_LIMIT_BYTES: `${BODY_LIMIT}` } })
    client = await stack.addClient('framed')
    session = openSession(stack.url)
  })

  afterAll(async () => {
    session?.destroy()
    await stack?.stop()
    delete process.env.NODE_TLS_REJECT_UNAUTHORIZED
  })

  const post = (body: string, headers = {}) => ({
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    authorization: `Bearer ${client.key}`,
    'content-type': 'application/json',
    'content-length': body.length,
    ...headers,
  })

  test('a call is counted as it is by HTTP/1.1, whole and streamed, and answered by the same bytes', async () => {
    for (const body of [CHAT, STREAM]) {
      const framed = await send(session, post(body), body)
      const plain = await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
        body,
      })
      expect([framed.status, framed.body.toString()]).toEqual([200, await plain.text()])
      const passed = Object.keys(framed.headers).filter((name) => name !== 'date')
      const named = [...plain.headers.keys()].filter(
        (name) => !/^(?:connection|keep-alive|transfer-encoding|date)$/.test(name),
      )
      expect(passed.sort()).toEqual(named.sort())
    }
    expect(await stack.usageOf(client, 4)).toMatchObject({ input_tokens: 44, output_tokens: 28 })
    const calls = await stack.calls(client)
    expect(calls.map(({ outcome }) => outcome)).toEqual(Array(4).fill('complete'))
  })

  test.each([
    ['without a key', { authorization: '' }, '/v1/chat/completions', CHAT],
    ['with an unknown key', { authorization: `Bearer tg_${'a'.repeat(43)}` }, '/v1/chat/completions', CHAT],
    [
      'of Anthropic, without a key',
      { authorization: '', 'anthropic-version': '2023-06-01' },
      '/v1/messages',
      CHAT,
    ],
    ['with two credentials', { 'x-api-key': 'tg_other' }, '/v1/chat/completions', CHAT],
    ['whose path is none', {}, '/v1/%zz', CHAT],
    ['with long headers', { 'x-long': 'a'.repeat(66_000) }, '/v1/x', CHAT],
    ['for its own usage, with a bad period', {}, '/v1/usage?period=x', ''],
    ['for its own usage', {}, '/v1/usage', ''],
    ['for a list of models', {}, '/v1/models', ''],
    ['for health', {}, '/healthz', ''],
    ['for what the upstream has not', {}, '/v1/nothing', ''],
  ])('a request %s is answered as by HTTP/1.1', async (_what, headers, path, body) => {
    upstream.answer((request, response) => {
      response.writeHead(request.url === '/v1/nothing' ? 404 : 200).end('{}')
    })
    const sent = { authorization: `Bearer ${client.key}`, ...headers }
    const method = body === '' ? 'GET' : 'POST'
    const framed = await send(session, { ':method': method, ':path': path, ...sent }, body || undefined)
    const plain = await fetch(`${stack.url}${path}`, { method, headers: sent, ...(body && { body }) })
    const text = (bytes: string) => bytes.replace(/"as_of":"[^"]*"|"uptime.*/, '')
    expect([framed.status, text(framed.body.toString())]).toEqual([plain.status, text(await plain.text())])
    expect(framed.headers['content-type'] ?? null).toBe(plain.headers.get('content-type'))
  })

  test.each([
    ['announced', { 'content-length': 4 * BODY_LIMIT }],
    ['not announced', { 'content-length': undefined }],
  ])('a body over the limit, its length %s, is refused as by HTTP/1.1, and its session goes on', async (_how, length) => {
    const before = upstream.requests.length
    const body = JSON.stringify({ model: 'gpt-4o-mini', messages: [], user: 'x'.repeat(4 * BODY_LIMIT) })
    const headers = Object.fromEntries(
      Object.entries({
        ...post(body),
        ...length,
        ...(length['content-length'] && { 'content-length': body.length }),
      }).filter(([, value]) => value !== undefined),
    )
    const framed = await send(session, headers, body)
    expect([framed.status, JSON.parse(framed.body.toString()).error.code]).toEqual([413, 'body_too_large'])
    expect((await send(session, { ':path': '/healthz' })).status).toBe(200)
    expect(upstream.requests).toHaveLength(before)
  })

  test('a rate that is spent is refused as by HTTP/1.1, with the time to wait', async () => {
    const limited = await stack.addClient('limited')
    const scope = { clientId: limited.id, keyId: null, model: null }
    await setLimits(stack.pool, scope, [{ kind: 'requests', per: null, isSoft: false, amount: 1n }], 'a test')
    const headers = post(CHAT, { authorization: `Bearer ${limited.key}` })
    await expect.poll(async () => (await send(session, headers, CHAT)).status).toBe(429)
    const framed = await send(session, headers, CHAT)
    const { ':method': _, ':path': path, ...plainHeaders } = headers
    const plain = await fetch(`${stack.url}${path}`, {
      method: 'POST',
      headers: { ...plainHeaders, 'content-length': `${CHAT.length}` },
      body: CHAT,
    })
    expect([framed.status, JSON.parse(framed.body.toString()).error.code]).toEqual([
      429,
      'rate_limit_exceeded',
    ])
    expect(JSON.parse(await plain.text()).error.code).toBe('rate_limit_exceeded')
    expect(Number(framed.headers['retry-after'])).toBeGreaterThan(0)
  })

  test('an upload that is reset in its middle goes nowhere', async () => {
    const before = upstream.requests.length
    const stream = session.request(post(CHAT, { 'content-length': 1_000 }))
    stream.on('error', () => {})
    stream.write(CHAT)
    stream.close(8)
    await new Promise((resolve) => stream.once('close', resolve))
    expect((await send(session, post(CHAT), CHAT)).status).toBe(200)
    expect(upstream.requests).toHaveLength(before + 1)
  })

  test('a stream that is reset in the middle is a call whose client left, at both ends', async () => {
    let upstreamClosed = false
    upstream.answer((_request, response) => {
      response.on('close', () => {
        upstreamClosed = true
      })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: {"choices":[]}\n\n')
    })
    const other = await stack.addClient('leaving')
    const stream = session.request(post(STREAM, { authorization: `Bearer ${other.key}` }))
    stream.on('error', () => {})
    stream.end(STREAM)
    await new Promise((resolve) => stream.once('data', resolve))
    stream.close(8)
    await expect.poll(() => upstreamClosed).toBe(true)
    await expect.poll(() => stack.calls(other)).toMatchObject([{ outcome: 'client_aborted' }])
    expect((await send(session, { ':path': '/healthz' })).status).toBe(200)
  })
})

test('a gateway that ends sends GOAWAY, and lets running streams end', async () => {
  const stack = await startStack(upstream.url)
  const client = await stack.addClient('draining')
  let finish = (): void => {}
  upstream.answer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('data: {"choices":[]}\n\n')
    finish = () => void response.end('data: [DONE]\n\n')
  })
  const session = openSession(stack.url)
  const gone = new Promise<number>((resolve) => session.once('goaway', resolve))
  const headers = {
    ':method': 'POST',
    ':path': '/v1/chat/completions',
    authorization: `Bearer ${client.key}`,
    'content-type': 'application/json',
  }
  const stream = session.request(headers)
  const pieces: Buffer[] = []
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  stream.end(STREAM)
  await expect.poll(() => pieces.length).toBe(1)
  const stopped = stack.gateway.drain().then(() => stack.stop())
  expect(await gone).toBe(0)
  finish()
  await new Promise((resolve) => stream.once('close', resolve))
  expect(stream.rstCode).toBe(0)
  expect(Buffer.concat(pieces).toString()).toContain('[DONE]')
  await stopped
})
