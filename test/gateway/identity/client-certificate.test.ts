import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect as connectHttp2 } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildStages } from '../../../src/gateway/admission/admit.ts'
import { certifiedBy } from '../../../src/gateway/identity/client-certificate.ts'
import { openTwoDoors, type TwoDoors } from '../admission/two-doors.ts'
import { parseResponse } from '../raw-http.ts'
import { standIn } from './provider.ts'

const FIXTURES = 'test/fixtures/tls'
const read = (file: string) => readFileSync(`${FIXTURES}/${file}`)
const CA = read('proxy/ca.pem')
const SERVER = { cert: read('cert.pem'), key: read('key.pem') }
const NAMES = ['DNS:proxy.internal']
const SECRET = 'the-secret-of-this-test-long-enough'

const ANN = 'x-tallygate-subject: ann'
const RESEARCH = 'x-tallygate-client: research'

/** What a client proves itself with; all certificates have the same key. */
function proof(name: string | null): ConnectionOptions {
  return name === null ? {} : { cert: read(`proxy/${name}.pem`), key: read('proxy/key.pem') }
}

const standin = standIn(Date.now)

async function open(secrets: readonly string[] | null, names: readonly string[] = NAMES): Promise<TwoDoors> {
  const proxy = { secrets, certificate: { caFile: 'ca.pem', names }, client: { kind: 'header' } as const }
  return await openTwoDoors(buildStages(proxy), {}, null, [], [], {
    tls: { ...SERVER, ca: CA },
    findCaller: (key) => standin.identities.find(key),
    findVouched: (subject, client) => standin.identities.findVouched(subject, client),
  })
}

let doors: TwoDoors
let both: TwoDoors
let byUri: TwoDoors
let byCommonName: TwoDoors

beforeAll(async () => {
  doors = await open(null)
  both = await open([SECRET])
  byUri = await open(null, ['URI:spiffe://test/edge'])
  byCommonName = await open(null, ['CN=edge proxy'])
})

afterAll(async () => {
  for (const one of [doors, both, byUri, byCommonName]) await one.close()
})

beforeEach(() => {
  for (const one of [doors, both, byUri, byCommonName]) one.reached.length = 0
})

function dial(at: TwoDoors, options: ConnectionOptions): TLSSocket {
  const socket = connect({
    port: Number(new URL(at.url).port),
    host: '127.0.0.1',
    ca: SERVER.cert,
    ...options,
  })
  return socket.on('error', () => socket.destroy())
}

const POST = ['POST /gw/v1/embeddings HTTP/1.1', 'Host: gateway.test', 'Content-Length: 13']

function textOf(headers: readonly string[], last = true): string {
  return [...POST, ...(last ? ['Connection: close'] : []), ...headers, '', '{"model":"m"}'].join('\r\n')
}

/** The status of one call over HTTP/1.1. */
async function ask(at: TwoDoors, options: ConnectionOptions, headers = [ANN, RESEARCH]): Promise<number> {
  const socket = dial(at, { servername: 'localhost', ...options })
  socket.write(textOf(headers))
  return parseResponse(await buffer(socket)).status
}

/** The same over HTTP/2. */
async function askHttp2(
  at: TwoDoors,
  options: ConnectionOptions,
  headers = [ANN, RESEARCH],
): Promise<number> {
  const session = connectHttp2(at.url.replace('http:', 'https:'), {
    ca: SERVER.cert,
    servername: 'localhost',
    ...options,
  })
  const stream = session.request({
    ':method': 'POST',
    ':path': '/gw/v1/embeddings',
    ...Object.fromEntries(headers.map((line) => line.split(': '))),
  })
  stream.end('{"model":"m"}')
  const [head] = await once(stream, 'response')
  await buffer(stream)
  session.close()
  return head[':status']
}

const PROTOCOLS = [
  ['HTTP/1.1', ask],
  ['HTTP/2', askHttp2],
] as const

describe.each(PROTOCOLS)('by %s', (_, by) => {
  test('the proxy with its certificate vouches by any of its names, and its headers go no further', async () => {
    for (const at of [doors, byUri, byCommonName]) {
      expect(await by(at, proof('proxy'))).toBe(200)
      expect(at.reached).toEqual(['journal', 'POST /v1/embeddings'])
      expect(at.upstream.requests.flatMap(({ rawHeaders }) => rawHeaders).join()).not.toMatch(/tallygate|ann/)
    }
  })

  test.each([
    ['no certificate', null],
    ['one of another authority of the same name', 'foreign'],
    ['one that it signed itself', 'self-signed'],
    ['one that is over', 'over'],
    ['one that is not in force yet', 'not-yet'],
    ['one for servers', 'for-servers'],
    ['another name, and the right one as common name', 'wrong-name'],
    ['names with the right ones written into them', 'injected'],
  ])('a client with %s does not', async (_what, name) => {
    for (const options of [proof(name), { ...proof(name), maxVersion: 'TLSv1.2' as const }]) {
      expect(await by(doors, options)).toBe(401)
      expect(await by(byUri, options)).toBe(401)
      if (name !== 'wrong-name') expect(await by(byCommonName, options)).toBe(401)
    }
    for (const at of [doors, byUri]) expect(at.reached).toEqual([])
  })

  test('where a secret is asked for too, neither is enough', async () => {
    const secret = `x-tallygate-proxy-secret: ${SECRET}`
    expect(await by(both, proof('proxy'), [ANN, RESEARCH, secret])).toBe(200)
    both.reached.length = 0
    for (const name of [null, 'foreign', 'wrong-name'])
      expect(await by(both, proof(name), [ANN, RESEARCH, secret])).toBe(401)
    expect(await by(both, proof('proxy'))).toBe(401)
    expect(await by(both, proof('proxy'), [ANN, RESEARCH, `${secret}x`])).toBe(401)
    expect(both.reached).toEqual([])
  })
})

test.each([
  ['no subject', [RESEARCH]],
  ['no client', [ANN]],
  ['two subjects', [ANN, RESEARCH, 'X-TALLYGATE-SUBJECT: boss']],
  ['two subjects in one line', ['x-tallygate-subject: boss, ann', RESEARCH]],
  ['two clients', [ANN, RESEARCH, 'x-tallygate-client: sales']],
  ['a subject under a name with underscores', ['x_tallygate_subject: ann', RESEARCH]],
  ['a subject behind a bare line feed', ['x-a: b\nx-tallygate-subject: ann', RESEARCH]],
  ['a subject with a space before its colon', ['x-tallygate-subject : ann', RESEARCH]],
  ['a subject that is folded', ['x-tallygate-subject:\r\n ann', RESEARCH]],
  ['a body of two lengths', [ANN, RESEARCH, 'Content-Length: 0']],
  ['a body of a length and in chunks', [ANN, RESEARCH, 'Transfer-Encoding: chunked']],
  ['the certificate of a proxy before it', ['x-forwarded-client-cert: CN=edge proxy', RESEARCH]],
])('a request of the proxy with %s is refused', async (_what, headers) => {
  expect([400, 401]).toContain(await ask(doors, proof('proxy'), headers))
  expect(doors.reached).toEqual([])
})

test('what one request of a connection says holds for no other of it', async () => {
  const socket = dial(doors, { servername: 'localhost', ...proof('proxy') })
  socket.write(textOf([ANN, RESEARCH], false) + textOf([]))
  const answers = (await buffer(socket)).toString().match(/HTTP\/1.1 \d+/g)
  expect(answers).toEqual(['HTTP/1.1 200', 'HTTP/1.1 401'])
})

test('a session of WebSocket is vouched for in the same way', async () => {
  const upgrade = (name: string | null) => {
    const socket = dial(doors, { servername: 'localhost', ...proof(name) })
    const lines = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13']
    const key = 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=='
    socket.write(
      ['GET /gw/v1/realtime HTTP/1.1', 'Host: a', ...lines, key, ANN, RESEARCH, '', ''].join('\r\n'),
    )
    return buffer(socket)
  }
  expect(parseResponse(await upgrade(null)).status).toBe(401)
  expect(doors.reached).toEqual([])
  await upgrade('proxy')
  expect(doors.reached).toEqual(['journal', expect.stringContaining('GET /v1/realtime')])
})

/** Ends a call over a connection, and gives the session that the next one may go on with. */
async function sessionOf(options: ConnectionOptions): Promise<Buffer> {
  const socket = dial(doors, { servername: 'localhost', ...options })
  const session = once(socket, 'session')
  socket.write(textOf([]))
  await buffer(socket)
  const [ticket] = await session
  return ticket
}

test.each([
  'TLSv1.3',
  'TLSv1.2',
] as const)('a session of %s that is resumed has what it began with', async (version) => {
  const at = { minVersion: version, maxVersion: version }
  for (const name of [null, 'foreign', 'over']) {
    const session = await sessionOf({ ...at, ...proof(name) })
    // Node takes such a connection for authorized.
    expect(await ask(doors, { ...at, session })).toBe(401)
    expect(await ask(doors, { ...at, session, ...proof('foreign') })).toBe(401)
  }
  expect(doors.reached).toEqual([])
  expect(await ask(doors, { ...at, session: await sessionOf({ ...at, ...proof('proxy') }) })).toBe(200)
})

test('a connection is trusted until its certificate ends, and one without TLS never is', async () => {
  const server = createServer({ ...SERVER, ca: CA, requestCert: true, rejectUnauthorized: false })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect({ port, ca: SERVER.cert, servername: 'localhost', ...proof('proxy') })
  const [socket] = await once(server, 'secureConnection')
  const isCertified = certifiedBy(NAMES)
  const endMs = Date.parse(socket.getPeerX509Certificate().validTo)
  expect([endMs - 1, endMs, Date.now()].map((nowMs) => isCertified(socket, nowMs))).toEqual([
    true,
    false,
    true,
  ])
  expect(isCertified(socket._parent ?? client, Date.now())).toBe(false)
  client.destroy()
  server.close()
})
