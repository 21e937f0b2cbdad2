import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { limitsName } from '../../src/domain/redis/redis-names.ts'
import { expectLimitsAndAlerts } from '../support/limited-client.ts'
import { CLUSTER_COMMANDS, REDIS_COMMANDS } from '../support/servers/redis-rights.ts'
import { startCluster } from './support/cluster.ts'
import { type Deployment, PREFIX, startDeployment } from './support/deployment.ts'
import { findServer, NOT_DURABLE, type RedisNode, startNode } from './support/redis-node.ts'

const PASSWORD = 'of@north:/%'
const USER = `north:${encodeURIComponent(PASSWORD)}`
const RULES = `on >${PASSWORD} resetkeys ~${PREFIX}* resetchannels &${PREFIX}* -@all`

const rightsOf = (...more: readonly string[]) =>
  `user north ${RULES} ${[...REDIS_COMMANDS, ...more].map((command) => `+${command}`).join(' ')}`

let folder: string
let deployment: Deployment | undefined
let stops: (() => Promise<void>)[] = []

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-redis-tls-'))
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' })
  const subject = ['-subj', '/CN=ca of the tests', '-nodes', '-days', '2', '-newkey', 'rsa:2048']
  openssl('req', '-x509', ...subject, '-keyout', 'ca.key', '-out', 'ca.pem')
  openssl(
    'req',
    '-new',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-subj',
    '/CN=redis',
    '-keyout',
    'key.pem',
    '-out',
    'csr',
  )
  execFileSync('sh', ['-c', 'printf "subjectAltName=DNS:localhost,IP:127.0.0.1" > extensions'], {
    cwd: folder,
  })
  openssl(
    ...['x509', '-req', '-in', 'csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2'],
    ...['-extfile', 'extensions', '-out', 'cert.pem'],
  )
})
afterEach(async () => {
  await deployment?.stop()
  deployment = undefined
  await Promise.all(stops.map((stop) => stop()))
  stops = []
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function start(...args: Parameters<typeof startNode>): Promise<RedisNode> {
  const node = await startNode(...args)
  stops.push(() => node.stop())
  return node
}

/** What a user was refused, by the server's own account. */
async function refusedBy(node: RedisNode): Promise<string[]> {
  const log = await node.ask('ACL', 'LOG', '128')
  const entries: unknown[] = Array.isArray(log) ? log : []
  return entries.map((entry) => {
    const fields: unknown[] = Array.isArray(entry) ? entry : []
    return String(fields[fields.indexOf('object') + 1])
  })
}

test('calls are counted, limited and alerted of for a user with the documented rights, who is refused nothing but INFO', async () => {
  const node = await start({ lines: () => [...NOT_DURABLE, rightsOf()] })
  deployment = await startDeployment(`redis://${USER}@127.0.0.1:${node.port}`)
  await deployment.call(50)
  await deployment.expectExact()
  expect(Number(await node.ask('ZCARD', `${PREFIX}{bull}:jobs:repeat`))).toBeGreaterThan(1)
  const clientId = await expectLimitsAndAlerts(deployment)
  expect(Number(await node.ask('HLEN', limitsName(PREFIX, clientId)))).toBeGreaterThan(1)
  expect(await node.ask('EXISTS', `${PREFIX}{bull}:alerts:meta`)).toBe(1)
  expect((await refusedBy(node)).filter((command) => command !== 'info')).toEqual([])
})

test('the same over a cluster', async () => {
  const cluster = await startCluster([rightsOf(...CLUSTER_COMMANDS)])
  stops.push(() => cluster.stop())
  deployment = await startDeployment(cluster.url.replace('://', `://${USER}@`))
  await deployment.call(50)
  await deployment.expectExact()
  const clientId = await expectLimitsAndAlerts(deployment)
  const name = limitsName(PREFIX, clientId)
  const { master } = await cluster.ownerOf(name)
  expect(Number(await master.ask('HLEN', name))).toBeGreaterThan(1)
  const refused = (await Promise.all(cluster.nodes.map(refusedBy))).flat()
  expect(refused.filter((command) => command !== 'info')).toEqual([])
})

test('calls are counted over TLS with a certificate of an own authority, and a login', async () => {
  const file = (name: string) => join(folder, name)
  const node = await start({
    lines: (port) => [
      ...NOT_DURABLE,
      rightsOf(),
      `tls-port ${port + 1}`,
      `tls-cert-file ${file('cert.pem')}`,
      `tls-key-file ${file('key.pem')}`,
      `tls-ca-cert-file ${file('ca.pem')}`,
      'tls-auth-clients no',
    ],
  })
  deployment = await startDeployment(`rediss://${USER}@localhost:${node.port + 1}`, {
    NODE_EXTRA_CA_CERTS: file('ca.pem'),
  })
  await deployment.call(50)
  await deployment.expectExact()
  expect(readFileSync(file('ca.pem'), 'utf8')).toContain('BEGIN CERTIFICATE')
})

test('calls are counted over a Unix socket', async () => {
  const socket = join(folder, 'redis.sock')
  await start({ lines: () => [...NOT_DURABLE, rightsOf(), `unixsocket ${socket}`] })
  deployment = await startDeployment(`redis+unix://${USER}@${socket}?db=0`)
  await deployment.call(50)
  await deployment.expectExact()
})

test.skipIf(findServer('valkey-server') === null)('calls are counted over Valkey', async () => {
  const node = await start({ program: 'valkey-server', lines: () => [...NOT_DURABLE, rightsOf()] })
  deployment = await startDeployment(`valkey://${USER}@127.0.0.1:${node.port}`)
  await deployment.call(50)
  await deployment.expectExact()
  expect((await refusedBy(node)).filter((command) => command !== 'info')).toEqual([])
})
