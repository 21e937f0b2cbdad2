import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { exchange, type RawUpstream, requestText, startRawUpstream } from '../raw-http.ts'

const CREDENTIAL = 'sk-upstream'
const SMUGGLED = 'GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n'

let upstream: RawUpstream
let stack: TestStack
let client: TestClient
let other: TestClient

beforeAll(async () => {
  upstream = await startRawUpstream((socket) => {
    socket.on('data', () => {})
    setTimeout(() => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok'), 50)
  })
  stack = await startStack(upstream.url, { env: { UPSTREAM_API_KEY: CREDENTIAL } })
  client = await stack.addClient('strict')
  other = await stack.addClient('other')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(() => {
  upstream.received.length = 0
})

function bearer(of = client): string {
  return `Authorization: Bearer ${of.key}`
}

/** A whole request with a good key, its head as written here, `close` last. */
function raw(head: readonly string[], body = ''): string {
  return [...head, 'Authorization: Bearer KEY', 'Connection: close', '', body].join('\r\n')
}

const POST = ['POST /v1/files HTTP/1.1', 'Host: a']

test.each<[string, string]>([
  [
    'a length and chunks',
    raw([...POST, 'Content-Length: 6', 'Transfer-Encoding: chunked'], `0\r\n\r\n${SMUGGLED}`),
  ],
  [
    'chunks and a length',
    raw([...POST, 'Transfer-Encoding: chunked', 'Content-Length: 6'], `0\r\n\r\n${SMUGGLED}`),
  ],
  ['two lengths', raw([...POST, 'Content-Length: 2', 'Content-Length: 40'], `{}${SMUGGLED}`)],
  ['two lengths that agree', raw([...POST, 'Content-Length: 2', 'Content-Length: 2'], '{}')],
  ['a list of lengths', raw([...POST, 'Content-Length: 2, 2'], '{}')],
  ['a signed length', raw([...POST, 'Content-Length: +2'], '{}')],
  ['a hexadecimal length', raw([...POST, 'Content-Length: 0x2'], '{}')],
  ['a length too large for a number', raw([...POST, 'Content-Length: 99999999999999999999999'], '{}')],
  ['an unknown coding', raw([...POST, 'Transfer-Encoding: xchunked'], '0\r\n\r\n')],
  ['a coding after chunks', raw([...POST, 'Transfer-Encoding: chunked, gzip'], '0\r\n\r\n')],
  ['an empty coding', raw([...POST, 'Transfer-Encoding:'], '0\r\n\r\n')],
  ['a coding behind a control character', raw([...POST, 'Transfer-Encoding: \x0bchunked'], '0\r\n\r\n')],
  ['a space before a colon', raw([...POST, 'Transfer-Encoding : chunked'], '0\r\n\r\n')],
  ['a folded header', raw([...POST, 'X-A: b', ' Transfer-Encoding: chunked'], '0\r\n\r\n')],
  ['a folded coding', raw([...POST, 'Transfer-Encoding:', '\tchunked'], '0\r\n\r\n')],
  ['a header folded before all others', raw(['GET /v1/x HTTP/1.1', ' X-A: b', 'Host: a'])],
  ['bare line feeds', raw(['GET /v1/x HTTP/1.1', 'Host: a']).replaceAll('\r\n', '\n')],
  ['a bare line feed between headers', raw(['GET /v1/x HTTP/1.1', 'Host: a\nX-A: b'])],
  ['a bare line feed within a value', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X-A: b\nX-B: c'])],
  ['a bare carriage return', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X-A: b\rX-B: c'])],
  ['NUL in a value', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X-A: b\0c'])],
  ['a control character in a value', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X-A: b\x01c'])],
  ['DEL in a value', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X-A: b\x7fc'])],
  ['NUL in a name', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X\0A: b'])],
  ['a name above ASCII', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X-\xc4: b'])],
  ['a name without a value', raw(['GET /v1/x HTTP/1.1', 'Host: a', 'X-A'])],
  ['no name', raw(['GET /v1/x HTTP/1.1', 'Host: a', ': b'])],
  ['a bad size of a chunk', raw([...POST, 'Transfer-Encoding: chunked'], `2 \r\n{}\r\n0\r\n\r\n${SMUGGLED}`)],
  ['a size of a chunk in C', raw([...POST, 'Transfer-Encoding: chunked'], '0x2\r\n{}\r\n0\r\n\r\n')],
  ['a chunk longer than its size', raw([...POST, 'Transfer-Encoding: chunked'], '2\r\n{}{}\r\n0\r\n\r\n')],
  ['a chunk ended by a line feed', raw([...POST, 'Transfer-Encoding: chunked'], '2\n{}\n0\n\n')],
  [
    'an extension of a chunk over 16 kB',
    raw([...POST, 'Transfer-Encoding: chunked'], `2;x=${'y'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`),
  ],
  [
    'a size of a chunk that overflows',
    raw([...POST, 'Transfer-Encoding: chunked'], `${'f'.repeat(17)}\r\n{}\r\n0\r\n\r\n`),
  ],
  ['a version that is none', raw(['GET /v1/x HTTP/1.10', 'Host: a'])],
  ['a space in the target', raw(['GET /v1/x y HTTP/1.1', 'Host: a'])],
  ['a control character in the target', raw(['GET /v1/\x01x HTTP/1.1', 'Host: a'])],
  ['a method in small letters', raw(['get /v1/x HTTP/1.1', 'Host: a'])],
  ['an unknown method', raw(['SMUGGLE /v1/x HTTP/1.1', 'Host: a'])],
])('%s: one answer, 400; nothing behind it is read as a request', async (_what, request) => {
  const next = SMUGGLED.replace('\r\n\r\n', `\r\n${bearer()}\r\n\r\n`)
  const { bytes } = await exchange(stack.url, request.replace('KEY', client.key) + next)
  expect(bytes.toString('latin1').match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 400'])
  expect(received()).not.toContain('smuggled')
})

/** All that came to the upstream. */
function received(): string {
  return Buffer.concat(upstream.received).toString('latin1')
}

/** The lines of the upstream's only request whose name matches. */
function receivedLines(name: RegExp): string[] {
  expect(upstream.received).toHaveLength(1)
  const [head = ''] = received().split('\r\n\r\n')
  return head.split('\r\n').filter((line) => name.test(line))
}

async function status(
  target: string,
  headers: readonly string[],
  method = 'GET',
  body = '',
): Promise<number> {
  return (await exchange(stack.url, requestText(target, headers, method, body))).status
}

const OUR_CREDENTIAL = [`authorization: Bearer ${CREDENTIAL}`]

test('what a client names in Connection takes nothing away that the gateway sends', async () => {
  const body = '{"model":"gpt-4o-mini","messages":[]}'
  const names =
    'authorization, x-api-key, host, content-length, accept-encoding, content-type, x-mine, connection'
  const headers = [
    bearer(),
    `Connection: ${names}`,
    'X-Mine: 1',
    'X-Stays: 1',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  expect(await status('/v1/chat/completions', headers, 'POST', body)).toBe(200)
  expect(receivedLines(/^(?:authorization|host|content-length|accept-encoding|x-)/i)).toEqual([
    `host: ${new URL(upstream.url).host}`,
    'X-Stays: 1',
    'accept-encoding: identity',
    ...OUR_CREDENTIAL,
    `content-length: ${body.length}`,
  ])
  expect(received().endsWith(`\r\n\r\n${body}`)).toBe(true)
})

test('a chunked body leaves with one framing, however the client wrote its own', async () => {
  const headers = [bearer(), 'TRANSFER-ENCODING:  Chunked', 'Connection: transfer-encoding, content-length']
  expect(await status('/v1/files', headers, 'POST', '2;a=b\r\n{}\r\n0\r\n\r\n')).toBe(200)
  // With its length where it was all there, else in chunks of the gateway's own, without what stood beside their sizes.
  const [framing, ...others] = receivedLines(/^(?:transfer-encoding|content-length)/i)
  expect(others).toEqual([])
  const written = framing === 'content-length: 2' ? '{}' : '2\r\n{}\r\n0\r\n\r\n'
  expect(received().split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(written)
})

test('trailers of a request stay behind, credentials among them', async () => {
  const framing = [
    bearer(),
    'Transfer-Encoding: chunked',
    'Trailer: Authorization, X-Trailer',
    'TE: trailers',
  ]
  const trailers = '0\r\nAuthorization: Bearer mine\r\nX-Trailer: 1\r\n\r\n'
  expect(await status('/v1/files', framing, 'POST', `2\r\n{}\r\n${trailers}`)).toBe(200)
  expect(received()).not.toMatch(/mine|x-trailer/i)
  expect(receivedLines(/^authorization/i)).toEqual(OUR_CREDENTIAL)
})

test('a wish for another protocol stays behind, the call goes on', async () => {
  const headers = [
    bearer(),
    'Connection: Upgrade, HTTP2-Settings',
    'Upgrade: h2c',
    'HTTP2-Settings: AAMAAABkAAQ',
  ]
  const { bytes } = await exchange(
    stack.url,
    requestText('/v1/x', headers).replace('Connection: close\r\n', '').replace('Upgrade,', 'Upgrade, close,'),
  )
  expect(bytes.toString('latin1').match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200'])
  expect(receivedLines(/^(?:upgrade|http2-settings)|h2c/i)).toEqual([])
})

test('a second Host line changes nothing of where a call goes', async () => {
  expect(await status('/v1/x', [bearer(), 'Host: elsewhere.test', 'X-Forwarded-Host: elsewhere.test'])).toBe(
    200,
  )
  expect(receivedLines(/^host/i)).toEqual([`host: ${new URL(upstream.url).host}`])
})

test.each([
  ['two keys in one header', (of: TestClient) => [`X-Api-Key: ${client.key}`, `X-Api-Key: ${of.key}`]],
  [
    'one key twice in one header',
    (_of: TestClient) => [`X-Api-Key: ${client.key}`, `x-api-key: ${client.key}`],
  ],
  ['a list of keys', (of: TestClient) => [`X-Goog-Api-Key: ${client.key}, ${of.key}`]],
  [
    'two keys as one authorization',
    (of: TestClient) => [`Authorization: Bearer ${client.key}, Bearer ${of.key}`],
  ],
])('%s: refused, and counted for no client', async (_what, headers) => {
  expect(await status('/v1/x', headers(other))).toBe(401)
  expect(upstream.received).toEqual([])
})

test('keys of several clients at several places: the first place decides, and none goes upstream', async () => {
  const [first, second] = await Promise.all([stack.addClient('first'), stack.addClient('second')])
  for (const [target, headers] of [
    ['/v1/x', [bearer(first), `X-Api-Key: ${second.key}`, `X-Api-Key: ${other.key}`]],
    ['/v1/x', [`X-Api-Key: ${first.key}`, `Api-Key: ${second.key}`, `X-Goog-Api-Key: ${second.key}`]],
    [`/v1/x?key=${second.key}`, [bearer(first)]],
    [`/v1/x?key=${first.key}&api-key=${second.key}&key=${second.key}`, []],
  ] as const)
    expect([target, await status(target, headers)]).toEqual([target, 200])
  await stack.usageOf(first, 4)
  expect((await stack.usage(second)).requests).toBe(0)
  expect(received()).not.toContain('tg_')
  expect(received().match(/^authorization: .*$/gm)).toEqual(Array(4).fill(OUR_CREDENTIAL[0]))
})

test('two Authorization lines are refused for a WebSocket too', async () => {
  const handshake = [
    'Upgrade: websocket',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    'Sec-WebSocket-Version: 13',
  ]
  const text = requestText('/v1/realtime', [bearer(), bearer(other), ...handshake])
  const { bytes } = await exchange(stack.url, text.replace('Connection: close', 'Connection: Upgrade'))
  expect(bytes.toString('latin1')).toMatch(/^HTTP\/1\.1 400 /)
  expect(upstream.received).toEqual([])
})

test.each([
  ['the absolute form', 'http://elsewhere.test/v1/x', 'GET'],
  ['the absolute form of the upstream', 'UPSTREAM/v1/x', 'GET'],
  ['the authority form', 'elsewhere.test:80', 'GET'],
  ['a host in front', '//elsewhere.test/v1/x', 'GET'],
  ['a user in front', '@elsewhere.test/v1/x', 'GET'],
  ['a backslash in front', '/\\elsewhere.test/../v1/x', 'GET'],
  ['the asterisk form', '*', 'OPTIONS'],
])('%s as target goes nowhere', async (_what, target, method) => {
  const answered = await status(target.replace('UPSTREAM', upstream.url), [bearer()], method)
  expect(answered).toBeGreaterThanOrEqual(400)
  expect(answered).toBeLessThan(405)
  expect(upstream.received).toEqual([])
})

test('CONNECT opens no tunnel', async () => {
  const { hostname, port } = new URL(upstream.url)
  const { bytes } = await exchange(
    stack.url,
    requestText(`${hostname}:${port}`, [bearer()], 'CONNECT') + SMUGGLED,
  )
  expect(bytes.toString('latin1')).not.toMatch(/^HTTP\/1\.1 [123]/)
  expect(upstream.received).toEqual([])
})

test('after everything above, the next call is served', async () => {
  expect(await status('/v1/x', [bearer()])).toBe(200)
})

test('TRACE, whose answer repeats the request, goes upstream without our credential', async () => {
  await exchange(stack.url, requestText('/v1/x', [bearer(), 'Connection: close'], 'TRACE'))
  expect(upstream.received.join('')).toContain('TRACE /v1/x HTTP/1.1')
  expect(upstream.received.join('')).not.toContain(CREDENTIAL)
})
