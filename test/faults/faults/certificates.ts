import { execFile } from 'node:child_process'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import type { Fault } from '../fault.ts'
import type { World } from '../world.ts'

const run = promisify(execFile)
const FIXTURES = 'test/fixtures/tls'

const filesOf = ({ stand }: World) => ({
  TLS_CERT_FILE: join(stand.folder, 'tls', 'cert.pem'),
  TLS_KEY_FILE: join(stand.folder, 'tls', 'key.pem'),
})

/** Writes a certificate for so many days to the files of the gateway, as a program that renews them does. */
async function write(world: World, days: number, name: string): Promise<void> {
  const files = filesOf(world)
  mkdirSync(join(world.stand.folder, 'tls'), { recursive: true })
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', `${days}`, '-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost'],
    ...['-keyout', files.TLS_KEY_FILE, '-out', files.TLS_CERT_FILE],
  ])
}

/** Whose certificate the next connection gets. */
function servedName(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.on('error', reject)
  })
}

const ends = /^that of gateway [^ ]+ ends \d{4}-/
const ADVICE = /^write the renewed one to TLS_CERT_FILE and TLS_KEY_FILE: gateways take it by themselves/

export const CERTIFICATE_FAULTS: readonly Fault[] = [
  {
    name: 'the certificate is over at a start',
    async begin(world) {
      const files = filesOf(world)
      await write(world, 60, 'first')
      copyFileSync(join(FIXTURES, 'over.pem'), files.TLS_CERT_FILE)
      copyFileSync(join(FIXTURES, 'over-key.pem'), files.TLS_KEY_FILE)
      world.meet()
      return await world.run(files, {}).then(
        () => 'it started',
        (error: unknown) => String(error),
      )
    },
    line: null,
    says: /TLS_CERT_FILE: the certificate ended \d{4}-/,
    advice: /renew it/,
    async repair(world) {
      await write(world, 60, 'renewed')
      await world.run(filesOf(world), {})
    },
  },
  {
    name: 'the certificate is over in 2 days, at two processes',
    async begin(world) {
      await write(world, 2, 'soon over')
      await world.run({ ...filesOf(world), GATEWAY_PROCESSES: '2' }, {})
      world.meet()
    },
    line: 'certificates',
    says: ends,
    advice: ADVICE,
    repair: (world) => write(world, 60, 'renewed'),
    async after(world) {
      const served = await Promise.all(Array.from({ length: 8 }, () => servedName(world.gateway.port)))
      expect(new Set(served)).toEqual(new Set(['renewed']))
    },
  },
]
