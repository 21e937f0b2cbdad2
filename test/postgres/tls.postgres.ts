import { execFileSync } from 'node:child_process'
import { chownSync, copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SILENT_LOG } from '../../src/lib/logger.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres } from '../../src/store/connection/postgres.ts'
import { type Cluster, startCluster } from './support/cluster.ts'
import { type Deployment, deploy, exactly } from './support/deployment.ts'

/** A user who logs in by a certificate alone. */
const CERT_USER = 'by_certificate'

let folder: string
let cluster: Cluster
let admin: pg.Client
let deployment: Deployment | null = null

const file = (name: string) => join(folder, name)
const openssl = (...args: readonly string[]) =>
  execFileSync('openssl', args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })

function makeAuthority(name: string): void {
  const subject = ['-subj', `/CN=${name}`, '-days', '2', '-nodes']
  openssl('req', '-x509', '-newkey', 'rsa:2048', '-keyout', `${name}.key`, '-out', `${name}.pem`, ...subject)
}

/** @param names Of the server, `DNS:localhost,IP:127.0.0.1`; absent: a client's. */
function makeCertificate(name: string, commonName: string, authority: string, names?: string): void {
  const request = ['-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${commonName}`, '-nodes']
  openssl('req', '-newkey', 'rsa:2048', ...request)
  writeFileSync(file(`${name}.ext`), names === undefined ? '' : `subjectAltName=${names}\n`)
  const signed = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`, '-CAcreateserial', '-days', '2']
  openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.pem`, ...signed, '-extfile', `${name}.ext`)
}

/** From its next connection on the server shows this certificate. */
async function serve(name: string): Promise<void> {
  const { rows } = await admin.query<{ folder: string }>(`select current_setting('data_directory') as folder`)
  const data = rows[0]?.folder ?? ''
  const { uid, gid } = statSync(data)
  for (const [from, to] of [
    [`${name}.pem`, 'server.pem'],
    [`${name}.key`, 'server.key'],
    ['ours.pem', 'clients.pem'],
  ] as const) {
    copyFileSync(file(from), join(data, to))
    chownSync(join(data, to), uid, gid)
  }
  const hba = join(data, 'pg_hba.conf')
  const line = `hostssl all ${CERT_USER} 127.0.0.1/32 cert\n`
  const before = readFileSync(hba, 'utf8')
  if (!before.startsWith(line)) writeFileSync(hba, line + before)
  for (const setting of [`ssl_cert_file = 'server.pem'`, `ssl_key_file = 'server.key'`])
    await admin.query(`alter system set ${setting}`)
  await admin.query(`alter system set ssl_ca_file = 'clients.pem'`)
  await admin.query('alter system set ssl = on')
  await admin.query('select pg_reload_conf()')
  await expect.poll(() => servedName(), { timeout: 10_000 }).toContain(name)
}

/** The subject that a new connection is shown. */
async function servedName(): Promise<string> {
  const client = new pg.Client({
    connectionString: cluster.url,
    ssl: { rejectUnauthorized: false },
  })
  try {
    await client.connect()
    const { stream } = client.connection as unknown as { stream: import('node:tls').TLSSocket }
    return String(stream.getPeerCertificate().subject?.CN)
  } catch {
    return ''
  } finally {
    await client.end().catch(() => {})
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tallygate-test-tls-'))
  makeAuthority('ours')
  makeAuthority('theirs')
  makeCertificate('here', 'here', 'ours', 'DNS:localhost,IP:127.0.0.1')
  makeCertificate('elsewhere', 'elsewhere', 'ours', 'DNS:elsewhere.example')
  makeCertificate('client', CERT_USER, 'ours')
  cluster = await startCluster()
  admin = new pg.Client({ connectionString: cluster.url })
  await admin.connect()
  await admin.query(`create role ${CERT_USER} login`)
})
afterAll(async () => {
  await deployment?.stop()
  await admin?.end()
  await cluster?.remove()
  rmSync(folder, { recursive: true, force: true })
})

function urlWith(
  parameters: string,
  host = '127.0.0.1',
  user = `${cluster.user}:${cluster.password}`,
): string {
  const files = parameters.replace(/=(\w+\.(?:pem|key))/g, (_, name) => `=${encodeURIComponent(file(name))}`)
  return `postgres://${user}@${host}:${cluster.port}/postgres?${files}`
}

/** `tls` or `plain`, as the server has it; `refused`. */
async function outcome(url: string): Promise<string> {
  const pool = openPostgres(url, {
    max: 1,
    statementTimeoutMs: 5_000,
    applicationName: 'test',
    log: SILENT_LOG,
  })
  try {
    const { rows } = await pool.query('select ssl from pg_stat_ssl where pid = pg_backend_pid()')
    return rows[0].ssl ? 'tls' : 'plain'
  } catch {
    return 'refused'
  } finally {
    await pool.end()
  }
}

test('each sslmode encrypts and checks what libpq says that it does', async () => {
  expect(await outcome(urlWith('sslmode=prefer'))).toBe('plain')
  expect(await outcome(urlWith('sslmode=require'))).toBe('refused')
  await serve('here')
  const outcomes = async (host: string, ...parameters: readonly string[]) =>
    Object.fromEntries(
      await Promise.all(parameters.map(async (it) => [it, await outcome(urlWith(it, host))] as const)),
    )
  for (const host of ['127.0.0.1', 'localhost']) {
    expect(
      await outcomes(
        host,
        'sslmode=disable',
        'sslmode=allow',
        'sslmode=prefer',
        'sslmode=require',
        'sslmode=require&sslrootcert=ours.pem',
        'sslmode=require&sslrootcert=theirs.pem',
        'sslmode=verify-ca&sslrootcert=ours.pem',
        'sslmode=verify-ca&sslrootcert=theirs.pem',
        'sslmode=verify-full&sslrootcert=ours.pem',
        'sslmode=verify-full&sslrootcert=theirs.pem',
        'sslmode=verify-full',
        'sslrootcert=system',
        'sslmode=require&sslnegotiation=direct',
      ),
    ).toEqual({
      'sslmode=disable': 'plain',
      'sslmode=allow': 'plain',
      'sslmode=prefer': 'tls',
      'sslmode=require': 'tls',
      'sslmode=require&sslrootcert=ours.pem': 'tls',
      'sslmode=require&sslrootcert=theirs.pem': 'refused',
      'sslmode=verify-ca&sslrootcert=ours.pem': 'tls',
      'sslmode=verify-ca&sslrootcert=theirs.pem': 'refused',
      'sslmode=verify-full&sslrootcert=ours.pem': 'tls',
      'sslmode=verify-full&sslrootcert=theirs.pem': 'refused',
      'sslmode=verify-full': 'refused',
      'sslrootcert=system': 'refused',
      'sslmode=require&sslnegotiation=direct': 'tls',
    })
  }
  await serve('elsewhere')
  for (const host of ['127.0.0.1', 'localhost']) {
    expect(
      await outcomes(
        host,
        'sslmode=require&sslrootcert=ours.pem',
        'sslmode=verify-ca&sslrootcert=ours.pem',
        'sslmode=verify-full&sslrootcert=ours.pem',
      ),
    ).toEqual({
      'sslmode=require&sslrootcert=ours.pem': 'tls',
      'sslmode=verify-ca&sslrootcert=ours.pem': 'tls',
      'sslmode=verify-full&sslrootcert=ours.pem': 'refused',
    })
  }
})

test('a client’s certificate logs in, and the same calls are counted over TLS', async () => {
  await serve('here')
  const checked = 'sslmode=verify-full&sslrootcert=ours.pem'
  expect(await outcome(urlWith(checked, 'localhost', CERT_USER))).toBe('refused')
  const certified = `${checked}&sslcert=client.pem&sslkey=client.key`
  expect(await outcome(urlWith(certified, '127.0.0.1', CERT_USER))).toBe('tls')

  await migrate(urlWith(checked), SILENT_LOG)
  deployment = await deploy(urlWith(checked))
  const endMs = performance.now() + 2_000
  const calls = await deployment.callUntil(() => performance.now() > endMs)
  const counted = await deployment.counted(calls)
  expect({ ...counted, ids: [...counted.ids].sort() }).toEqual(exactly(calls))
  const { rows } = await admin.query(
    `select count(*)::int as plain from pg_stat_activity join pg_stat_ssl using (pid)
     where application_name like 'tallygate%' and not ssl`,
  )
  expect(rows).toEqual([{ plain: 0 }])
})
