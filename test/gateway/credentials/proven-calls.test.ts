import { createHash } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import type { FetchedCredential } from '../../../src/gateway/credentials/fetched-credential.ts'
import { isSignedWith, readClaims, readSignature } from '../../../src/gateway/sigv4/read-signature.ts'
import { signatureHeaders } from '../../../src/gateway/sigv4/sign-request.ts'
import { GatewayError } from '../../../src/http/errors.ts'
import { openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { exchange, requestText } from '../raw-http.ts'

let doors: TwoDoors

afterEach(() => doors.close())

const SECRET = 'the secret at AWS'
const KEY = { accessKeyId: 'ASIAGATEWAY', secretAccessKey: SECRET, sessionToken: 'the token at AWS' }
const PLACE = { region: 'us-east-1', service: 'bedrock' }

const STATE = { endsAtMs: null, isUsable: true, problem: null }
const REST = { settings: '', renew() {}, state: () => STATE, stop() {} }
const signing: FetchedCredential = {
  ...REST,
  kind: 'aws',
  header: null,
  sign: (request) => signatureHeaders(request, KEY, PLACE, Date.now()),
  usable: () => true,
}

async function open(fetched: FetchedCredential): Promise<TwoDoors> {
  const provider = fetched.kind === 'aws' ? 'bedrock' : 'vertex'
  return await openTwoDoors(buildStages(), {}, null, [
    { name: 'cloud', pathPrefix: '/cloud', provider, fetched },
  ])
}

async function post(target: string, body: string, headers: readonly string[] = []) {
  const own = ['Authorization: Bearer good', ...headers]
  const sent = [...own, 'Content-Type: application/json', `Content-Length: ${body.length}`]
  return await exchange(doors.url, requestText(`/gw/cloud${target}`, sent, 'POST', body))
}

/** Whether AWS would take the request that came last. */
function isRightlySigned(): boolean {
  const [request] = doors.upstream.requests.slice(-1)
  if (request === undefined) throw new Error('no request came')
  const received = { method: request.method, target: request.url, rawHeaders: request.rawHeaders }
  const signature = readSignature(request.headers.authorization ?? '')
  const claims = signature === null ? '' : readClaims(received, signature)
  if (signature === null || typeof claims === 'string') return false
  const hash = createHash('sha256').update(request.body).digest('hex')
  expect([signature.accessKeyId, claims.payloadHash]).toEqual([KEY.accessKeyId, hash])
  return isSignedWith(SECRET, received, signature, claims, hash)
}

test.each([
  ['a body that is read', '/model/anthropic.claude-3%3A0/converse', '{"messages":[]}'],
  [
    'a name that is an ARN',
    '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/invoke',
    '{"a":1}',
  ],
  ['a body that nothing reads', '/unheard-of?b=1&a=%2F', 'any bytes'],
  ['no body', '/model/m/converse', ''],
  ['a long body', '/model/m/converse', JSON.stringify({ messages: ['x'.repeat(700_000)] })],
])('a call with %s is signed for AWS as it is sent', async (_, target, body) => {
  doors = await open(signing)
  const theirs = [
    'x-amz-date: 20200101T000000Z',
    'x-amz-security-token: theirs',
    'x-api-key: theirs',
    'X-Amz-User-Agent: sdk',
    'accept: a',
  ]
  expect((await post(target, body, theirs)).status).toBe(200)
  expect(isRightlySigned()).toBe(true)
  const [request] = doors.upstream.requests
  expect([request?.url, request?.body.toString(), request?.headers.accept]).toEqual([target, body, 'a'])
  expect(request?.rawHeaders.join('\n')).not.toMatch(/theirs|good/)
})

test('one connection signs each of its calls by itself', async () => {
  doors = await open(signing)
  const request = (body: string) =>
    requestText(
      '/gw/cloud/model/m/converse',
      ['Authorization: Bearer good', 'Content-Type: application/json', `Content-Length: ${body.length}`],
      'POST',
      body,
    )
  await exchange(doors.url, request('{"a":1}').replace('Connection: close\r\n', '') + request('{"a":22}'))
  expect(doors.upstream.requests).toHaveLength(2)
  expect(isRightlySigned()).toBe(true)
})

test('a token is sent as it is at the moment of each call', async () => {
  let token = 'first'
  doors = await open({
    ...REST,
    kind: 'google',
    sign: null,
    usable: () => true,
    get header() {
      return ['authorization', `Bearer ${token}`] as const
    },
  })
  const path = '/v1/projects/p/locations/global/publishers/google/models/gemini-2.5-flash:generateContent'
  await post(path, '{}')
  token = 'second'
  await post(path, '{}')
  expect(doors.upstream.requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer first',
    'Bearer second',
  ])
})

test('a call without a valid credential is not sent, and one that is being fetched is awaited', async () => {
  const missing = () => {
    throw new GatewayError('upstream_credential_missing')
  }
  let usable: boolean | Promise<boolean> = false
  doors = await open({ ...signing, sign: missing, usable: () => usable })
  const refused = await post('/model/m/converse', '{}')
  expect([refused.status, refused.lines.join()]).toEqual([
    502,
    expect.stringContaining('ServiceUnavailableException'),
  ])
  usable = Promise.resolve(false)
  expect((await post('/model/m/converse', '{}')).status).toBe(502)
  expect(doors.reached).toEqual([])
  // It ends between the stages and the dispatch.
  usable = Promise.resolve(true)
  const ended = await post('/model/m/converse', '{}')
  expect([ended.status, ended.body.toString()]).toEqual([502, expect.stringContaining('no valid credential')])
  expect(doors.upstream.requests).toEqual([])
})
