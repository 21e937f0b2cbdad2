import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ConfigError, loadGatewayConfig } from '../../../src/config/config.ts'
import { watchCertificate } from '../../../src/gateway/health/certificate.ts'
import { createLog } from '../../../src/lib/log.ts'

let folder: string
let files: { certFile: string; keyFile: string }

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-tls-'))
  files = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
})
afterAll(() => rmSync(folder, { recursive: true }))

const FIXTURES = 'test/fixtures/tls'
/** Whose the first one is. */
const FIRST = 'localhost'

/** Writes the key and then the certificate, as those who renew them do. */
function use(cert: string, key: string): void {
  copyFileSync(join(FIXTURES, key), files.keyFile)
  copyFileSync(join(FIXTURES, cert), files.certFile)
}

test('clients get a renewed certificate without a restart, and never one that is over or half written', async () => {
  use('cert.pem', 'key.pem')
  const certificate = watchCertificate(files, createLog('silent', 'test'), 20)
  const server = createServer({ ...certificate.pem })
  certificate.serve(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const served = () =>
    new Promise<string>((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      })
      socket.on('error', reject)
    })
  try {
    expect(await served()).toBe(FIRST)
    copyFileSync(join(FIXTURES, 'renewed.pem'), files.certFile)
    certificate.reload()
    expect(await served()).toBe(FIRST)
    use('renewed.pem', 'renewed-key.pem')
    await expect.poll(served).toBe('renewed')
    expect(certificate.endsAtMs).toBeGreaterThan(Date.now() + 30 * 365 * 86_400_000)
    use('over.pem', 'over-key.pem')
    certificate.reload()
    expect(await served()).toBe('renewed')
  } finally {
    certificate.stop()
    server.close()
  }
})

test('a gateway does not start on a certificate that is over, and says when it ended', () => {
  use('over.pem', 'over-key.pem')
  const env = { TLS_CERT_FILE: files.certFile, TLS_KEY_FILE: files.keyFile }
  const load = () => loadGatewayConfig(env)
  expect(load).toThrow(ConfigError)
  expect(load).toThrow('TLS_CERT_FILE: the certificate ended 2020-01-02T00:00:00.000Z: renew it')
})

test('authorities of clients are read again with the certificate, and a file without any is not taken', async () => {
  use('cert.pem', 'key.pem')
  const clientCaFile = join(folder, 'client-ca.pem')
  const proxied = (name: string) => copyFileSync(join(FIXTURES, 'proxy', name), clientCaFile)
  proxied('ca.pem')
  const certificate = watchCertificate({ ...files, clientCaFile }, createLog('silent', 'test'), 20)
  const server = createServer({ ...certificate.pem, requestCert: true, rejectUnauthorized: false })
  certificate.serve(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const trusted: boolean[] = []
  server.on('secureConnection', (socket) => {
    trusted.push(socket.authorized)
    socket.end()
  })
  const authorized = async (name: string) => {
    const [cert, key] = [name, 'key.pem'].map((file) => readFileSync(join(FIXTURES, 'proxy', file)))
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, cert, key })
    await new Promise((resolve) => socket.on('close', resolve).resume())
    return trusted.pop()
  }
  try {
    expect([await authorized('proxy.pem'), await authorized('foreign.pem')]).toEqual([true, false])
    proxied('key.pem')
    certificate.reload()
    expect([await authorized('proxy.pem'), await authorized('foreign.pem')]).toEqual([true, false])
    proxied('other-ca.pem')
    await expect.poll(() => authorized('foreign.pem')).toBe(true)
    expect(await authorized('proxy.pem')).toBe(false)
  } finally {
    certificate.stop()
    server.close()
  }
})
