import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import { startStack, type TestClient, type TestStack } from '../../support/servers/stack.ts'
import { type HeardGateway, startHeardGateway } from '../support/heard-process.ts'

/** What upstreams show: a certificate of the authority for 127.0.0.1 and localhost, and three that must not do. */
const CERTIFICATES = ['good', 'wrong-name', 'expired', 'self-signed'] as const
type Certificate = (typeof CERTIFICATES)[number]
const UNFIT: readonly Certificate[] = ['wrong-name', 'expired', 'self-signed']

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/tls/${name}`, import.meta.url))
const AUTHORITY = fixture('upstream/authority.pem')

interface Upstream {
  readonly server: Server
  readonly requests: IncomingMessage[]
  /** Bytes of any client's that came through TLS. */
  bytes: number
}

const upstreams = new Map<Certificate, Upstream>()
let stack: TestStack
let folder: string
const gateways: HeardGateway[] = []
let env: Record<string, string>

function startUpstream(certificate: Certificate): Upstream {
  const ownPair = certificate === 'self-signed'
  const server = createServer({
    cert: readFileSync(fixture(ownPair ? 'cert.pem' : `upstream/${certificate}.pem`)),
    key: readFileSync(fixture(ownPair ? 'key.pem' : 'upstream/key.pem')),
  })
  const upstream: Upstream = { server, requests: [], bytes: 0 }
  server.on('request', (request, response) => {
    if (request.url !== '/v1/models') upstream.requests.push(request)
    response.end('{"data":[]}')
  })
  const sessions = new WebSocketServer({ server })
  sessions.on('connection', (session, request) => {
    upstream.requests.push(request)
    session.close()
  })
  server.on('secureConnection', (socket) => {
    socket.prependListener('data', (chunk) => {
      upstream.bytes += chunk.length
    })
  })
  server.on('tlsClientError', () => {})
  return upstream
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-upstream-tls-'))
  const lines = ['upstreams:']
  for (const certificate of CERTIFICATES) {
    const upstream = startUpstream(certificate)
    upstreams.set(certificate, upstream)
    await once(upstream.server.listen(0, '127.0.0.1'), 'listening')
    const { port } = upstream.server.address() as AddressInfo
    lines.push(
      `  - { name: ${certificate}, url: 'https://127.0.0.1:${port}', provider: openai, path_prefix: /${certificate}, api_key_env: CREDENTIAL }`,
    )
  }
  const config = join(folder, 'tallygate.yaml')
  await writeFile(config, lines.join('\n'))
  // The database, the worker, and clients; calls go through gateways in processes of their own.
  stack = await startStack('http://127.0.0.1:1')
  const { UPSTREAM_URL: _url, UPSTREAM_PROVIDER: _provider, ...rest } = stack.env
  env = {
    ...rest,
    TALLYGATE_CONFIG: config,
    CREDENTIAL: 'sk-upstream',
    LOG_LEVEL: 'info',
    JOURNAL_DIR: join(folder, 'journal'),
  }
  gateways.push(
    ...(await Promise.all([
      startHeardGateway({ ...env, NODE_EXTRA_CA_CERTS: AUTHORITY }),
      startHeardGateway(env),
      startHeardGateway({ ...env, NODE_TLS_REJECT_UNAUTHORIZED: '0' }),
    ])),
  )
})

afterAll(async () => {
  await Promise.all(gateways.map((gateway) => gateway.end('SIGTERM')))
  await stack?.stop()
  for (const { server } of upstreams.values()) {
    server.closeAllConnections()
    server.close()
  }
  if (folder !== undefined) await rm(folder, { recursive: true, force: true })
})

async function ask(gateway: HeardGateway | undefined, certificate: Certificate, client: TestClient) {
  const answer = await fetch(`${gateway?.url}/${certificate}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${client.key}`, 'content-type': 'application/json' },
    body: '{"model":"gpt-4o-mini","messages":[]}',
  })
  const { error }: { error?: { code: string } } = Object(await answer.json())
  return [answer.status, error?.code ?? null]
}

/** The status with which a handshake ends. */
async function startHandshake(
  gateway: HeardGateway | undefined,
  certificate: Certificate,
  client: TestClient,
) {
  const webSocket = new WebSocket(`${gateway?.url.replace('http', 'ws')}/${certificate}/v1/realtime`, {
    headers: { authorization: `Bearer ${client.key}` },
  })
  webSocket.on('error', () => {})
  return await new Promise<number | undefined>((resolve) => {
    webSocket.on('open', () => resolve(101))
    webSocket.on('unexpected-response', (_request, answer) => resolve(answer.statusCode))
  })
}

const REFUSED = [502, 'upstream_unreachable']

test('an upstream whose certificate NODE_EXTRA_CA_CERTS vouches for is called, with our credential', async () => {
  const client = await stack.addClient('trusting')
  expect(await ask(gateways[0], 'good', client)).toEqual([200, null])
  expect(await startHandshake(gateways[0], 'good', client)).toBe(101)
  const { requests = [] } = upstreams.get('good') ?? {}
  expect(requests.map(({ headers }) => headers.authorization)).toEqual([
    'Bearer sk-upstream',
    'Bearer sk-upstream',
  ])
  await stack.usageOf(client, 2)
})

test.each(
  UNFIT,
)('a certificate that is %s: 502, calls and sessions are recorded, not a byte is sent', async (certificate) => {
  const client = await stack.addClient(`facing ${certificate}`)
  expect(await ask(gateways[0], certificate, client)).toEqual(REFUSED)
  expect(await startHandshake(gateways[0], certificate, client)).toBe(502)
  await stack.usageOf(client, 2)
  const unanswered = { outcome: 'upstream_error', status: null, upstream: certificate, cost_pico: '0' }
  expect(await stack.calls(client)).toMatchObject([
    { ...unanswered, web_socket: false },
    { ...unanswered, web_socket: true },
  ])
  expect(upstreams.get(certificate)).toMatchObject({ requests: [], bytes: 0 })
})

test('an authority that was not configured is not trusted', async () => {
  const client = await stack.addClient('careful')
  const before = upstreams.get('good')?.bytes
  expect(await ask(gateways[1], 'good', client)).toEqual(REFUSED)
  expect(await startHandshake(gateways[1], 'good', client)).toBe(502)
  expect(upstreams.get('good')?.bytes).toBe(before)
  await stack.usageOf(client, 2)
})

test('NODE_TLS_REJECT_UNAUTHORIZED=0 does not turn it off', async () => {
  const client = await stack.addClient('careless')
  for (const certificate of UNFIT) {
    expect(await ask(gateways[2], certificate, client)).toEqual(REFUSED)
    expect(await startHandshake(gateways[2], certificate, client)).toBe(502)
    expect(upstreams.get(certificate)).toMatchObject({ requests: [], bytes: 0 })
  }
  await stack.usageOf(client, 6)
})
