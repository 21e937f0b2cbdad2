import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import {
  createServer,
  getCACertificates,
  type SecureVersion,
  type Server,
  setDefaultCACertificates,
  type TLSSocket,
} from 'node:tls'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ConnectionPool } from '../src/connection-pool.ts'
import { send } from './taken-answer.ts'

const fixture = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../../test/fixtures/tls/${name}`, import.meta.url)), 'utf8')

const authorities = getCACertificates()
let server: Server
let pool: ConnectionPool
let sockets: TLSSocket[]
/** Of each of them, whether its handshake was resumed: one that is closed does not know any more. */
let resumed: boolean[]

beforeAll(() => setDefaultCACertificates([...authorities, fixture('upstream/authority.pem')]))
afterAll(() => setDefaultCACertificates(authorities))

async function start(host: string, certificate: string, version: SecureVersion) {
  sockets = []
  resumed = []
  server = createServer({
    cert: fixture(certificate),
    key: fixture(certificate === 'cert.pem' ? 'key.pem' : 'upstream/key.pem'),
    maxVersion: version,
    ALPNProtocols: ['h2', 'http/1.1'],
  })
  server.on('tlsClientError', () => {})
  server.on('secureConnection', (socket) => {
    sockets.push(socket)
    resumed.push(socket.isSessionReused())
    socket.on('error', () => {})
    // Closed by the server, so that each request needs a connection.
    socket.on('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello'),
    )
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  pool = new ConnectionPool(`https://${host}:${(server.address() as AddressInfo).port}`, {
    connectMs: 5_000,
    headersMs: 5_000,
    bodyMs: 5_000,
  })
}

afterEach(async () => {
  await pool.destroy()
  await new Promise((resolve) => server.close(resolve))
})

test.each([
  'TLSv1.2',
  'TLSv1.3',
] as const)('%s: verified, HTTP/1.1 by ALPN, the next handshake resumes', async (version) => {
  await start('localhost', 'upstream/good.pem', version)
  for (let i = 0; i < 3; i++) {
    const { status, body } = await send(pool).ended
    expect([status, body.toString()]).toEqual([200, 'hello'])
  }
  expect(resumed).toEqual([false, true, true])
  expect(sockets.map(({ alpnProtocol }) => alpnProtocol)).toEqual(Array(3).fill('http/1.1'))
  expect(Reflect.get(sockets[0] ?? {}, 'servername')).toBe('localhost')
})

test('an address is verified without a server name', async () => {
  await start('127.0.0.1', 'upstream/good.pem', 'TLSv1.3')
  expect((await send(pool).ended).status).toBe(200)
  expect(Reflect.get(sockets[0] ?? {}, 'servername')).toBe(false)
})

test.each(
  (['upstream/wrong-name.pem', 'upstream/expired.pem', 'cert.pem'] as const).flatMap((certificate) =>
    (['TLSv1.2', 'TLSv1.3'] as const).map((version) => [certificate, version] as const),
  ),
)('%s over %s is refused every time: no session of an unverified server is resumed', async (certificate, version) => {
  await start('localhost', certificate, version)
  let bytes = 0
  server.on('secureConnection', (socket) => {
    socket.prependListener('data', (chunk) => {
      bytes += chunk.length
    })
  })
  for (let i = 0; i < 3; i++) {
    const { calls } = await send(pool).ended
    expect(calls).toEqual(['error unsent'])
  }
  expect(resumed).not.toContain(true)
  expect(bytes).toBe(0)
})
