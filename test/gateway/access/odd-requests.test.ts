import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { exchange, type RawUpstream, requestText, startRawUpstream } from '../raw-http.ts'

let upstream: RawUpstream
let stack: TestStack
let client: TestClient

beforeAll(async () => {
  upstream = await startRawUpstream((socket) => {
    socket.end('HTTP/1.1 200 OK\r\nx-tallygate-call-id: theirs\r\nContent-Length: 2\r\n\r\nok')
  })
  stack = await startStack(upstream.url)
  client = await stack.addClient('odd')
})

afterAll(async () => {
  await stack?.stop()
  await upstream?.close()
})

function authorization(): string {
  return `Authorization: Bearer ${client.key}`
}

test('a request without a Host header is refused in the shape of all errors', async () => {
  const { status, body } = await exchange(
    stack.url,
    `GET /v1/things HTTP/1.1\r\n${authorization()}\r\nConnection: close\r\n\r\n`,
  )
  expect([status, JSON.parse(body.toString())]).toEqual([
    400,
    {
      error: {
        message: 'The request has no Host header.',
        type: 'invalid_request_error',
        param: null,
        code: null,
      },
    },
  ])
  expect(upstream.received).toHaveLength(0)
})

test('HTTP/1.0, which knows no Host header, is served without one', async () => {
  const { status } = await exchange(stack.url, `GET /v1/usage HTTP/1.0\r\n${authorization()}\r\n\r\n`)
  expect(status).toBe(200)
})

test('an unknown expectation is ignored', async () => {
  const { status, body } = await exchange(
    stack.url,
    requestText('/v1/things', [authorization(), 'Expect: the-moon', 'Content-Length: 2'], 'POST', '{}'),
  )
  expect([status, body.toString()]).toEqual([200, 'ok'])
  expect(upstream.received.at(-1)?.toString()).not.toMatch(/^expect:/im)
})

test("an upstream's own call id does not stand beside the gateway's", async () => {
  const { lines } = await exchange(stack.url, requestText('/v1/things', [authorization()]))
  expect(lines.filter((line) => /^x-tallygate-call-id:/i.test(line))).toEqual([
    expect.stringMatching(/^x-tallygate-call-id: [0-9a-f-]{36}$/),
  ])
})

test('60,000 blanks of latin-1 in a header are read in a time that no other call notices', async () => {
  // Node keeps them, where it takes plain blanks away. By the square of their number they would take minutes.
  const coding = `Content-Encoding: ${'\u00a0'.repeat(60_000)}x`
  const head = requestText('/v1/files', [authorization(), coding, 'Content-Length: 2'], 'POST', '{}')
  const { status, body } = await exchange(stack.url, head)
  expect([status, body.toString()]).toEqual([400, expect.stringContaining('Send the form uncoded')])
  expect((await exchange(stack.url, requestText('/v1/usage', [authorization()]))).status).toBe(200)
})
