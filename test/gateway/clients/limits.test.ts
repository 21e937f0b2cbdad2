import { once } from 'node:events'
import { beforeEach, expect, test } from 'vitest'
import { startOwnStack } from '../../support/servers/own-stack.ts'
import { dial, exchange, parseResponse, requestText } from '../raw-http.ts'

const LIMIT_BYTES = 100_000

const { upstream, stack } = await startOwnStack({ env: { BODY_LIMIT_BYTES: `${LIMIT_BYTES}` } })
const client = await stack.addClient('large')

beforeEach(() => {
  upstream.requests.length = 0
})

/** A chat's body of exactly this many bytes. */
function chatBody(bytes: number): string {
  const frame = '{"model":"gpt-4o-mini","messages":[],"user":""}'
  return frame.replace('""', `"${'x'.repeat(bytes - frame.length)}"`)
}

function post(path: string, body: string, framing: readonly string[]): Promise<[number, unknown]> {
  const headers = [`Authorization: Bearer ${client.key}`, 'Content-Type: application/json', ...framing]
  return exchange(stack.url, requestText(path, headers, 'POST', body)).then(({ status, body }) => [
    status,
    JSON.parse(body.toString()),
  ])
}

function chunked(body: string): string {
  const half = body.length >> 1
  const pieces = [body.slice(0, half), body.slice(half)]
  return `${pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`).join('')}0\r\n\r\n`
}

const TOO_LARGE = [
  413,
  {
    error: {
      message: expect.any(String),
      type: 'invalid_request_error',
      param: null,
      code: 'body_too_large',
    },
  },
]

test('a body of exactly the limit passes, however it is framed', async () => {
  const body = chatBody(LIMIT_BYTES)
  const [length] = await post('/v1/chat/completions', body, [`Content-Length: ${body.length}`])
  const [pieces] = await post('/v1/chat/completions', chunked(body), ['Transfer-Encoding: chunked'])
  expect([length, pieces]).toEqual([200, 200])
  expect(upstream.requests.map((request) => request.body.toString())).toEqual([body, body])
})

test('a byte more is refused with 413 and goes nowhere, however it is framed', async () => {
  const body = chatBody(LIMIT_BYTES + 1)
  expect(await post('/v1/chat/completions', body, [`Content-Length: ${body.length}`])).toEqual(TOO_LARGE)
  expect(await post('/v1/chat/completions', chunked(body), ['Transfer-Encoding: chunked'])).toEqual(TOO_LARGE)
  expect(await post('/v1/messages', body, [`Content-Length: ${body.length}`])).toEqual([
    413,
    { type: 'error', error: { type: 'invalid_request_error', message: expect.any(String) } },
  ])
  expect(upstream.requests).toEqual([])
})

test('an announced length over the limit is refused before a byte of the body is sent', async () => {
  const socket = dial(stack.url)
  const headers = [
    `Authorization: Bearer ${client.key}`,
    'Content-Type: application/json',
    'Content-Length: 99999999999',
  ]
  socket.write(requestText('/v1/chat/completions', headers, 'POST'))
  const [answer] = await once(socket, 'data')
  expect(parseResponse(answer).status).toBe(413)
  socket.destroy()
})

test('the key is looked at before the body', async () => {
  const socket = dial(stack.url)
  socket.write(requestText('/v1/chat/completions', ['Content-Length: 5000'], 'POST'))
  const [answer] = await once(socket, 'data')
  expect(parseResponse(answer)).toMatchObject({
    status: 401,
    lines: expect.arrayContaining(['connection: close']),
  })
  socket.destroy()
})

test('paths that are not metered have no limit', async () => {
  const body = 'x'.repeat(5 * LIMIT_BYTES)
  const answer = await fetch(`${stack.url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/octet-stream' },
    body,
  })
  expect(answer.status).toBe(200)
  expect(upstream.requests[0]?.body.toString()).toBe(body)
})

test('headers of 60 kB pass, and over the limit they are refused with 431 in JSON', async () => {
  const authorization = `Authorization: Bearer ${client.key}`
  const large = await exchange(
    stack.url,
    requestText('/v1/x', [authorization, `X-Large: ${'x'.repeat(15_000)}`]),
  )
  expect(large.status).toBe(200)

  for (const header of [`X-Large: ${'x'.repeat(70_000)}`, `Authorization: Bearer ${'x'.repeat(70_000)}`]) {
    const { status, lines, body } = await exchange(stack.url, requestText('/v1/x', [authorization, header]))
    expect(status).toBe(431)
    expect(lines).toContain('Content-Type: application/json; charset=utf-8')
    expect(JSON.parse(body.toString())).toEqual({
      error: {
        message: 'The request headers are over the limit.',
        type: 'invalid_request_error',
        param: null,
        code: 'headers_too_large',
      },
    })
  }
  const target = await exchange(stack.url, requestText(`/v1/x?${'x'.repeat(70_000)}`, [authorization]))
  expect(target.status).toBe(431)
  expect(upstream.requests).toHaveLength(1)
})

test('a request that is not HTTP is refused with 400 in JSON, and the next call is served', async () => {
  const broken = [
    'nonsense\r\n\r\n',
    'GET /v1/x HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n',
    'POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    'POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef',
    'POST /v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n',
    'POST /v1/x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, identity\r\n\r\n',
    `GET /v1/x HTTP/1.1\r\nHost: a\nAuthorization: Bearer ${'x'}\r\n\r\n`,
    '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', // a TLS client's first bytes
  ]
  for (const bytes of broken) {
    const { status, body } = await exchange(stack.url, bytes)
    expect([bytes, status]).toEqual([bytes, 400])
    expect(JSON.parse(body.toString())).toMatchObject({ error: { code: null } })
  }
  expect(
    (await exchange(stack.url, requestText('/v1/x', [`Authorization: Bearer ${client.key}`]))).status,
  ).toBe(200)
  expect(upstream.requests).toHaveLength(1)
})

test('a request without Host is refused with 400', async () => {
  const { status } = await exchange(stack.url, 'GET /v1/x HTTP/1.1\r\n\r\n')
  expect(status).toBe(400)
})
