import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { exchange } from '../raw-http.ts'
import { SIGNER, signedHeaders, type ToSign, wireText } from './signing-client.ts'

let doors: TwoDoors

beforeAll(async () => {
  doors = await openTwoDoors(buildStages(), {}, null, [
    { name: 'aws', pathPrefix: '/aws', provider: 'bedrock', fetched: null },
  ])
})

afterAll(() => doors.close())

beforeEach(() => {
  doors.reached.length = 0
  doors.refused.length = 0
  doors.upstream.requests.length = 0
})

const TARGET = '/gw/v1/embeddings'
const BODY = '{"model":"gpt-4o","input":"hi"}'
const CALL: ToSign = { target: TARGET, body: BODY, headers: { 'content-type': 'application/json' } }
const MINUTE_MS = 60_000

type Change = (text: string) => string

/** Signs, changes the bytes, and sends them. */
async function send(call: ToSign, change: Change = (text) => text) {
  const headers = await signedHeaders(call)
  const { status, lines, body } = await exchange(doors.url, change(wireText(call, headers)))
  const type = lines.find((line) => line.startsWith('x-amzn-errortype: '))?.slice(18) ?? null
  return { status, type, body: body.toString() }
}

const DIFFERS = { status: 403, body: expect.stringContaining('signature') }

test.each([
  ['with the hash of its body', CALL],
  ['without it, as botocore signs', { ...CALL, sendsHash: false }],
  ['without a body', { method: 'GET', target: '/gw/aws/async-invoke' }],
  ['with a query in any order', { ...CALL, target: `${TARGET}?b=2&a=x%2Fy&a=1` }],
  ['on a path that nothing reads', { ...CALL, target: '/gw/aws/unheard-of', body: 'any bytes' }],
  [
    'with a body of many slices',
    { ...CALL, body: JSON.stringify({ model: 'm', input: 'x'.repeat(700_000) }) },
  ],
  [
    'with such a body as botocore',
    { ...CALL, body: JSON.stringify({ model: 'm', input: 'x'.repeat(700_000) }), sendsHash: false },
  ],
  ['with a token that is of no use here', { ...CALL, sessionToken: 'a-token' }],
  ['almost 5 minutes ago', { ...CALL, atMs: Date.now() - 4 * MINUTE_MS }],
  ['in a region and for a service of any name', { ...CALL, region: 'local', service: 'bedrock-mantle' }],
] as const)('a call that is signed %s goes upstream, byte for byte and without its signature', async (_, call: ToSign) => {
  expect(await send(call)).toMatchObject({ status: 200 })
  const [request] = doors.upstream.requests
  expect(request?.url).toBe(call.target.replace(/^\/gw(?:\/aws)?/, ''))
  expect(request?.body.toString()).toBe(call.body ?? '')
  expect(request?.rawHeaders.join('\n')).not.toMatch(/x-amz-|AWS4|Signature|a-token|key_/i)
})

test.each(['chunked', 'whole'])('a body that comes %s is compared with what was signed', async (how) => {
  const call = { ...CALL, target: '/gw/aws/unheard-of', body: 'abcdef' }
  const chunked: Change = (text) =>
    text.replace(
      /content-length: 6\r\n\r\nabcdef/,
      'transfer-encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n0\r\n\r\n',
    )
  const change = how === 'chunked' ? chunked : (text: string) => text
  expect(await send(call, change)).toMatchObject({ status: 200 })
  expect(doors.upstream.requests[0]?.body.toString()).toBe('abcdef')
  expect(await send(call, (text) => change(text).replace('abc', 'abX'))).toMatchObject(DIFFERS)
  expect(doors.upstream.requests).toHaveLength(1)
})

const LONG = JSON.stringify({ model: 'm', input: 'x'.repeat(700_000) })

const ALTERED: readonly (readonly [what: string, call: ToSign, change: Change])[] = [
  ['a body, whose hash is in a header', CALL, (text) => text.replace('"hi"', '"ho"')],
  ['a body, whose hash is in none', { ...CALL, sendsHash: false }, (text) => text.replace('"hi"', '"ho"')],
  ['a body of many slices', { ...CALL, body: LONG }, (text) => text.replace('xx"', 'xy"')],
  [
    'a body that is gone',
    CALL,
    (text) => text.replace(`content-length: ${BODY.length}`, 'content-length: 0').replace(BODY, ''),
  ],
  [
    'a body that was added',
    { method: 'GET', target: '/gw/v1/usage' },
    (text) => text.replace('\r\n\r\n', '\r\ncontent-length: 1\r\n\r\nx'),
  ],
  [
    'a body that was added, where no hash is in a header',
    { method: 'GET', target: '/gw/v1/usage', sendsHash: false },
    (text) => text.replace('\r\n\r\n', '\r\ncontent-length: 1\r\n\r\nx'),
  ],
  ['the hash of a body', CALL, (text) => text.replace(/content-sha256: ../, 'content-sha256: 00')],
  ['a path', CALL, (text) => text.replace(TARGET, '/gw/v1/responses')],
  ['a path that is encoded once more', CALL, (text) => text.replace(TARGET, '/gw/v1/embedding%73')],
  ['a query', { ...CALL, target: `${TARGET}?a=1` }, (text) => text.replace('?a=1', '?a=2')],
  ['a query that was added', CALL, (text) => text.replace(TARGET, `${TARGET}?a=1`)],
  ['a method', CALL, (text) => text.replace('POST', 'PUT')],
  ['a header', { ...CALL, headers: { accept: 'a' } }, (text) => text.replace('accept: a', 'accept: b')],
  ['the host', CALL, (text) => text.replace('host: gateway.test', 'host: other.test')],
  [
    'a signed header that is gone',
    { ...CALL, headers: { 'x-more': 'a' } },
    (text) => text.replace('x-more: a\r\n', ''),
  ],
  [
    'a signed header that came twice',
    { ...CALL, headers: { 'x-more': 'a' } },
    (text) => text.replace('x-more: a', 'x-more: a\r\nx-more: b'),
  ],
  ['a second hash', CALL, (text) => text.replace('x-amz-date', 'x-amz-content-sha256: 0\r\nx-amz-date')],
  [
    'a second host',
    CALL,
    (text) => text.replace('host: gateway.test', 'host: gateway.test\r\nhost: other.test'),
  ],
  [
    'a header of AWS that is not signed',
    CALL,
    (text) => text.replace('x-amz-date', 'x-amz-target: y\r\nx-amz-date'),
  ],
  [
    'the time',
    CALL,
    (text) =>
      text.replace(/(x-amz-date: \d{8}T\d{5})(\d)/, (_, to, last) => `${to}${(Number(last) + 1) % 10}`),
  ],
  ['the day of the scope', CALL, (text) => text.replace(/\/\d{8}\//, '/20200101/')],
  ['the region of the scope', CALL, (text) => text.replace('us-east-1', 'eu-west-1')],
  ['the signature', CALL, (text) => text.replace(/Signature=\w{4}/, 'Signature=0000')],
]

test.each(ALTERED)('%s is refused when it is not what was signed', async (_, call, change) => {
  const answer = await send(call, change)
  // Of two hosts a server may take either, so that one is refused before.
  expect([400, 403]).toContain(answer.status)
  expect(doors.reached).toEqual([])
})

test("another client's access key id is of no use without its secret, and nothing is counted against it", async () => {
  for (const sendsHash of [true, false]) {
    expect(await send({ ...CALL, sendsHash, secret: 'another secret' })).toMatchObject(DIFFERS)
  }
  expect([doors.reached, doors.refused]).toEqual([[], []])
})

test.each([
  -6, 6,
])('a request of %i minutes from now is refused, as AWS does, and so is its repetition later', async (minutes) => {
  const call = { ...CALL, target: '/gw/model/m/converse', atMs: Date.now() + minutes * MINUTE_MS }
  expect(await send(call)).toMatchObject({ status: 403, type: 'RequestTimeTooSkewed' })
  expect(doors.reached).toEqual([])
})

test('errors have the shape that libraries of AWS read', async () => {
  const call = { ...CALL, target: '/gw/model/anthropic.claude%3A0/converse' }
  expect(await send({ ...call, secret: 'x' })).toMatchObject({
    status: 403,
    type: 'SignatureDoesNotMatch',
    body: expect.stringMatching(/^{"message":"The signature is not/),
  })
  for (const keyId of ['key_BBBBBBBBBBBBBBBBBBBB', 'AKIAIOSFODNN7EXAMPLE'])
    expect(await send({ ...call, keyId })).toMatchObject({
      status: 401,
      type: 'UnrecognizedClientException',
      body: expect.stringMatching(/^{"message":"No key of this gateway has this access key id\./),
    })
  expect(await send({ ...call, keyId: 'key_RRRRRRRRRRRRRRRRRRRR' })).toMatchObject({
    status: 403,
    type: 'AccessDeniedException',
  })
})

test.each([
  ['of another algorithm', (text: string) => text.replace('AWS4-HMAC-SHA256', 'AWS4-ECDSA-P256-SHA256')],
  ['without a host in it', (text: string) => text.replace(';host;', ';')],
  ['with a scope of any length', (text: string) => text.replace('us-east-1', 'u'.repeat(5_000))],
  ['with any number of headers', (text: string) => text.replace(';host;', `;host;${'i;'.repeat(1_500)}`)],
  ['with a header in it twice', (text: string) => text.replace(';host;', ';host;host;')],
  ['of no form', (text: string) => text.replace(/authorization: .*/, 'authorization: AWS4-HMAC-SHA256 x')],
] as const)('a signature %s is refused with 401', async (_, change) => {
  expect(await send(CALL, change)).toMatchObject({ status: 401 })
  expect(doors.reached).toEqual([])
})

test.each([
  'UNSIGNED-PAYLOAD',
  'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
])('a body that is not signed (%s) is refused', async (hash) => {
  const answer = await send({ ...CALL, headers: { 'x-amz-content-sha256': hash } })
  expect(answer).toMatchObject({ status: 403, body: expect.stringContaining('The body is not signed') })
  expect(doors.reached).toEqual([])
})

test('a form is not taken, as only bodies that are held can be compared', async () => {
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const call = { ...CALL, target: '/gw/v1/audio/transcriptions', headers, body: '--b--\r\n' }
  expect(await send(call)).toMatchObject({ status: 415 })
})

test('a presigned URL is refused', async () => {
  const target = `${TARGET}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Signature=0`
  const answer = await exchange(doors.url, wireText({ target, body: BODY }, { host: 'gateway.test' }))
  expect([answer.status, answer.body.toString()]).toEqual([401, expect.stringContaining('presigned')])
})

test('a key of ours beside a signature goes before it', async () => {
  const key = 'tg_0123456789abcdefghijABCDEFGHIJ012345'
  const headers = { ...(await signedHeaders({ ...CALL, secret: 'of another service' })), 'x-api-key': key }
  const { status } = await exchange(doors.url, wireText(CALL, headers))
  expect(status).toBe(401)
  expect(doors.reached).toEqual([])
})

test('a session begins with a signed handshake', async () => {
  const call = { method: 'GET', target: '/gw/v1/realtime' }
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  }
  const { connection, ...others } = upgrade
  for (const secret of ['another secret', SIGNER.secret]) {
    const headers = { ...(await signedHeaders({ ...call, headers: others, secret })), connection }
    const text = wireText(call, headers).replace('connection: close\r\n', '')
    const { status } = await exchange(doors.url, text)
    expect(status).toBe(secret === SIGNER.secret ? 200 : 403)
  }
})
