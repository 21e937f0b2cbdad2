import { deepEqual, ok } from 'node:assert/strict'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { findFreePort } from '../../src/standalone/processes/free-port.ts'
import { untilPatiently } from '../support/patience.ts'
import type { ComposeStack } from './stack.ts'
import { makeCalls, type Traffic } from './traffic.ts'

const TLS = 'test/fixtures/tls'
const RENEWALS = 4
const AT_ONCE = 16
const EVERY_MS = 8

/** With deploy/https.yml the balancer speaks HTTPS and HTTP/2. By the page's command it takes renewed certificates, and fails no call. */
export async function checkHttps({ compose, tallygate, env }: ComposeStack): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'tallygate-test-https-'))
  const port = await findFreePort()
  const given = {
    COMPOSE_FILE: 'docker-compose.yml:deploy/https.yml',
    HTTPS_FOLDER: folder,
    HTTPS_PORT: `${port}`,
  }
  const write = async (...files: readonly string[]) => {
    const parts = await Promise.all(files.map((file) => readFile(join(TLS, file), 'utf8')))
    await writeFile(join(folder, 'site.pem'), parts.join(''))
  }
  const greeted = async (subject: string) => {
    const seen = await untilPatiently(async () => (await subjectAt(port)) === subject || null, {
      timeoutMs: 30_000,
    })
    ok(seen, `the balancer has not the certificate of ${subject}: ${await subjectAt(port)}`)
  }
  try {
    await chmod(folder, 0o755)
    await write('cert.pem', 'key.pem')
    Object.assign(env, given)
    await compose('up', '--no-build', '--no-deps', '--detach', 'balancer')
    await greeted('localhost h2')
    const baseUrl = `http://127.0.0.1:${env.PORT}`
    await untilPatiently(async () => ((await fetch(`${baseUrl}/readyz`)).ok ? true : null), {
      timeoutMs: 30_000,
    })
    await tallygate('client', 'create', 'renewed')
    const { key } = await tallygate('key', 'create', '--client', 'renewed')
    const traffic: Traffic = { sent: 0, answered: new Set(), failures: [] }
    const load = { baseUrl, key, calls: Number.POSITIVE_INFINITY, atOnce: AT_ONCE, everyMs: EVERY_MS }
    const calling = makeCalls(load, traffic)
    for (let renewal = 1; renewal <= RENEWALS; renewal++) {
      const isRenewed = renewal % 2 === 1
      await write(...(isRenewed ? ['renewed.pem', 'renewed-key.pem'] : ['cert.pem', 'key.pem']))
      await compose('exec', '-T', 'balancer', 'sh', '-c', 'kill -USR2 1')
      await greeted(isRenewed ? 'renewed h2' : 'localhost h2')
    }
    load.calls = traffic.sent
    await calling
    deepEqual(traffic.failures, [], 'a renewal fails no call')
    console.log(`HTTPS and HTTP/2 at the balancer, ${RENEWALS} renewals: 0 of ${traffic.sent} calls failed`)
  } finally {
    for (const name of Object.keys(given)) delete env[name]
    await compose('up', '--no-build', '--no-deps', '--detach', 'balancer')
    await rm(folder, { recursive: true, force: true })
  }
}

/** Who the certificate is of, and which protocol was agreed on; `null`: nothing answers. */
async function subjectAt(port: number): Promise<string | null> {
  return await new Promise((resolve) => {
    const socket = connect(
      { port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] },
      () => {
        resolve(`${socket.getPeerCertificate().subject.CN} ${socket.alpnProtocol}`)
        socket.destroy()
      },
    )
    socket.once('error', () => resolve(null))
  })
}
