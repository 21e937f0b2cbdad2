import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
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
