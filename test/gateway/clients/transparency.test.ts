import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import {
  dial,
  exchange,
  parseResponse,
  type RawUpstream,
  requestText,
  startRawUpstream,
} from '../raw-http.ts'

let answer: (socket: Socket, head: string) => void
let upstream: RawUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startRawUpstream((socket, head) => answer(socket, head))
  stack = await startStack(upstream.url)
  client = await stack.addClient('exact')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

beforeEach(() => {
  upstream.received.length = 0
  answers('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok')
})

function answers(bytes: string | Buffer): void {
  answer = (socket) => socket.end(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
}

function send(target: string, headers: readonly string[] = [], method = 'GET', body = '') {
  const authorization = `Authorization: Bearer ${client.key}`
  return exchange(stack.url, requestText(target, [authorization, ...headers], method, body))
}

/** The lines of the upstream's first request, less those that every request has. */
function receivedLines(): string[] {
  const head = upstream.received[0]?.toString('latin1').split('\r\n\r\n')[0] ?? ''
  // A length of 0 goes with every method that may have a body.
  return head.split('\r\n').filter((line) => !/^(?:host|connection|content-length: 0)/i.test(line))
}

const CALL_ID = expect.stringMatching(/^x-tallygate-call-id: [0-9a-f-]{36}$/)

test.each([
  'PATCH',
  'PUT',
  'DELETE',
  'OPTIONS',
  'PROPFIND',
  'REPORT',
  'M-SEARCH',
  'QUERY',
  'TRACE',
  'PURGE',
])('%s goes upstream as it is', async (method) => {
  const { status } = await send('/v1/things', [], method)
  expect(status).toBe(200)
  expect(receivedLines()).toEqual([`${method} /v1/things HTTP/1.1`])
})

test('request headers keep their case, order, repetition and bytes; hop-by-hop ones and credentials stay behind', async () => {
  await send('/v1/things?x=%C3%A9&&y', [
    'X-Zebra: 1',
    'x-apple: caf\xe9',
    'X-ZEBRA: 2',
    'Accept-Encoding: gzip, br',
    'OpenAI-Beta: a, b',
    'Cookie: session=1',
    'Proxy-Authorization: Basic abc',
    'Keep-Alive: timeout=5',
    'X-Empty:',
    'anthropic-beta: x',
    'User-Agent:   spaced out',
  ])
  expect(receivedLines()).toEqual([
    'GET /v1/things?x=%C3%A9&&y HTTP/1.1',
    'X-Zebra: 1',
    'x-apple: caf\xe9',
    'X-ZEBRA: 2',
    'Accept-Encoding: gzip, br',
    'OpenAI-Beta: a, b',
    'X-Empty: ',
    'anthropic-beta: x',
    'User-Agent: spaced out',
  ])
})

test('response headers keep their case, order, repetition and bytes; hop-by-hop ones stay behind', async () => {
  answers(
    [
      'HTTP/1.1 299 Strangely Fine',
      'X-Zebra: 1',
      'x-twice: a=1',
      'X-Twice: b=2',
      'x-request-id: req_123',
      'X-Latin: caf\xe9',
      'X-Empty:',
      'DATE: yesterday',
      'Server: upstream/1',
      'Location: http://elsewhere.test/v1/x?y=z',
      'Keep-Alive: timeout=5',
      'Proxy-Authenticate: Basic',
      'Connection: close, X-Private',
      'X-Private: 1',
      'Content-Type: Application/JSON;  Charset=UTF-8',
      'Content-Length: 5',
      '',
      '{"a" ',
    ].join('\r\n'),
  )
  const { lines, body } = await send('/v1/things')
  expect(lines.filter((line) => !line.toLowerCase().startsWith('connection:'))).toEqual([
    'HTTP/1.1 299 Strangely Fine',
    'X-Zebra: 1',
    'x-twice: a=1',
    'X-Twice: b=2',
    'x-request-id: req_123',
    'X-Latin: caf\xe9',
    'X-Empty: ',
    'DATE: yesterday',
    'Server: upstream/1',
    'Location: http://elsewhere.test/v1/x?y=z',
    'Content-Type: Application/JSON;  Charset=UTF-8',
    'Content-Length: 5',
    CALL_ID,
  ])
  expect(body.toString()).toBe('{"a" ')
})

test.each([
  ['204 No Content', 'GET', ''],
  ['304 Not Modified', 'GET', 'ETag: "x"\r\nContent-Length: 10\r\n'],
  ['200 OK', 'HEAD', 'Content-Length: 12345\r\n'],
  ['200 OK', 'HEAD', 'Transfer-Encoding: chunked\r\n'],
  ['200 OK', 'GET', 'Content-Length: 0\r\n'],
  ['404 Not Found', 'GET', 'Content-Length: 0\r\n'],
])('%s to %s has no body and keeps its headers (%j)', async (statusLine, method, headers) => {
  answers(`HTTP/1.1 ${statusLine}\r\n${headers}X-A: b\r\nConnection: close\r\n\r\n`)
  const { lines, body } = await send('/v1/things', [], method)
  const kept = headers.split('\r\n').filter((line) => line !== '' && !line.startsWith('Transfer'))
  expect(lines.filter((line) => !/^(?:connection|transfer-encoding):/i.test(line))).toEqual([
    `HTTP/1.1 ${statusLine}`,
    ...kept,
    'X-A: b',
    CALL_ID,
  ])
  expect(body).toEqual(Buffer.alloc(0))
})

test('compressed answers of paths that are not metered pass as they are', async () => {
  for (const [encoding, bytes] of [
    ['gzip', gzipSync('{"data":[]}')],
    ['br', brotliCompressSync('{"data":[]}')],
    ['gzip', Buffer.from('no gzip at all')],
  ] as const) {
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${encoding}\r\nContent-Length: ${bytes.length}\r\nConnection: close\r\n\r\n`
    answers(Buffer.concat([Buffer.from(head), bytes]))
    const { lines, body } = await send('/v1/files/file-1/content', ['Accept-Encoding: gzip, br'])
    expect(lines).toContain(`Content-Encoding: ${encoding}`)
    expect(body).toEqual(bytes)
  }
})

test('an answer without a length ends with its connection, whole', async () => {
  answers('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall of it')
  const { body } = await send('/v1/things')
  expect(body.toString()).toBe('9\r\nall of it\r\n0\r\n\r\n')
})

test('trailers pass to a client that takes them', async () => {
  answers(
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\nConnection: close\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 5\r\n\r\n',
  )
  const { body } = await send('/v1/things', ['TE: trailers'])
  expect(body.toString().toLowerCase()).toBe('5\r\nhello\r\n0\r\nx-sum: 5\r\n\r\n')
})

test('trailers pass the filter that headers pass', async () => {
  answers(
    [
      'HTTP/1.1 200 OK',
      'Transfer-Encoding: chunked',
      'Connection: close, X-Private',
      '',
      '5',
      'hello',
      '0',
      'X-Tallygate-Call-Id: forged',
      'X-Sum: 5',
      'X-Private: 1',
      'Proxy-Authenticate: Basic',
      'Keep-Alive: timeout=5',
      'Upgrade: h2c',
      'X-Twice: a=1',
      '',
      '',
    ].join('\r\n'),
  )
  const { lines, body } = await send('/v1/things', ['TE: trailers'])
  expect(lines.filter((line) => line.startsWith('x-tallygate'))).toEqual([CALL_ID])
  // As among headers, what is not dropped stays.
  expect(body.toString().toLowerCase()).toBe('5\r\nhello\r\n0\r\nx-sum: 5\r\nx-twice: a=1\r\n\r\n')
})

test('informational answers before the answer do not disturb it', async () => {
  answers(
    'HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok',
  )
  const { status, body } = await send('/v1/things')
  expect([status, body.toString()]).toEqual([200, 'ok'])
})

test('Expect: 100-continue is answered by the gateway, and the body follows', async () => {
  const socket = dial(stack.url)
  const headers = [`Authorization: Bearer ${client.key}`, 'Expect: 100-continue', 'Content-Length: 4']
  socket.write(requestText('/v1/files', headers, 'POST'))
  const [interim] = await once(socket, 'data')
  expect(parseResponse(interim).status).toBe(100)
  socket.write('body')
  const [final] = await once(socket, 'data')
  expect(parseResponse(final).status).toBe(200)
  expect(upstream.received[0]?.toString()).toMatch(/\r\n\r\nbody$/)
  expect(receivedLines().join('\n')).not.toMatch(/expect/i)
  socket.destroy()
})

test('a GET with a body takes it upstream', async () => {
  answer = (socket) => {
    socket
      .on('data', () => {})
      .setTimeout(50, () => {
        socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n')
      })
  }
  const { status } = await send(
    '/v1/search',
    ['Content-Type: application/json', 'Content-Length: 7'],
    'GET',
    '{"q":1}',
  )
  expect(status).toBe(200)
  expect(upstream.received[0]?.toString()).toMatch(
    /\r\nContent-Type: application\/json\r\nContent-Length: 7\r\n\r\n\{"q":1\}$/i,
  )
})

test('a chunked upload goes upstream as it comes, content type as it was', async () => {
  const type = 'content-type: application/json;charset=UTF-8; x="y"'
  answer = (socket) => {
    socket.on('data', (chunk) => {
      if (chunk.includes('0\r\n\r\n')) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
    })
  }
  const socket = dial(stack.url)
  const headers = [`Authorization: Bearer ${client.key}`, type, 'Transfer-Encoding: chunked']
  socket.write(requestText('/v1/files', headers, 'POST', '5\r\n{"a":\r\n'))
  await expect.poll(() => upstream.received[0]?.toString()).toMatch(/\r\n\r\n5\r\n\{"a":/)
  socket.write('2\r\n1}\r\n0\r\n\r\n')
  const [final] = await once(socket, 'data')
  expect(parseResponse(final).status).toBe(200)
  expect(receivedLines()).toEqual(expect.arrayContaining([type, 'transfer-encoding: chunked']))
  expect(upstream.received[0]?.toString().toLowerCase()).not.toContain('content-length')
  socket.destroy()
})

test('a chunked body of a metered call goes upstream with its length', async () => {
  const framing = ['Content-Type: application/json; charset=utf-8', 'Transfer-Encoding: chunked']
  await send('/v1/chat/completions', framing, 'POST', '5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n')
  const lines = receivedLines()
  expect(lines).toEqual(
    expect.arrayContaining([framing[0], 'content-length: 7', 'accept-encoding: identity']),
  )
  expect(lines.join('\n')).not.toMatch(/chunked/)
  expect(upstream.received[0]?.toString()).toMatch(/\r\n\r\n\{"a":1\}$/)
})

test('a multipart upload keeps boundary and bytes', async () => {
  const body = '--XX\r\nContent-Disposition: form-data; name="file"\r\n\r\n\x00\xff\xfe\r\n--XX--\r\n'
  const type = 'Content-Type: multipart/form-data; boundary=XX'
  await send('/v1/audio/transcriptions', [type, `Content-Length: ${body.length}`], 'POST', body)
  expect(receivedLines()).toContain(type)
  expect(upstream.received[0]?.toString('latin1').split('\r\n\r\n').slice(1).join('\r\n\r\n')).toBe(body)
})

test('a metered body goes upstream byte for byte, strange numbers, escapes and white space included', async () => {
  const body =
    '{ "model":"gpt-4o-mini" ,"n":1.0e+0, "seed":12345678901234567890,"a":"\\u00e9\\/","a":1,"messages":[]\n}\n'
  await send(
    '/v1/chat/completions',
    ['Content-Type: application/json', `Content-Length: ${body.length}`],
    'POST',
    body,
  )
  expect(upstream.received[0]?.toString('latin1').endsWith(`\r\n\r\n${body}`)).toBe(true)
})

test('one connection carries many calls, pipelined ones too, answered in order', async () => {
  const server = createServer((request, response) => response.end(request.url)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const kept = await startStack(`http://127.0.0.1:${port}`)
  const caller = await kept.addClient('pipelining')
  const socket = dial(kept.url)
  const line = (n: number, more = '') =>
    `GET /v1/n${n} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${caller.key}\r\n${more}\r\n`
  socket.write(line(1) + line(2) + line(3, 'Connection: close\r\n'))
  let text = ''
  for await (const chunk of socket) text += chunk.toString('latin1')
  expect(text.match(/\/v1\/n\d/g)).toEqual(['/v1/n1', '/v1/n2', '/v1/n3'])
  await kept.usageOf(caller, 3)
  await kept.stop()
  server.close()
})
