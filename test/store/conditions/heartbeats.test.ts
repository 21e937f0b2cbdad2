import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Finding } from '../../../src/domain/conditions/finding.ts'
import type { StorePorts } from '../../../src/store/conditions/condition.ts'
import { STORE_CONDITIONS } from '../../../src/store/conditions/store-conditions.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { NOTHING_REPORTED, type ProcessReport } from '../../../src/store/processes/process-report.ts'
import { announceProcess, type ProcessKind } from '../../../src/store/processes/processes-table.ts'
import { quiet } from '../../rollup/records.ts'
import { createTestDatabase, type TestDatabase } from '../../support/servers/database.ts'

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  const options = { max: 2, statementTimeoutMs: 5_000, applicationName: 'test', log: quiet }
  pool = openPostgres(database.url, options)
})
beforeEach(async () => {
  await pool.query('delete from tallygate.processes')
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const GIB = 2 ** 30
const GATEWAY = { journalWritable: true, diskBytes: 100 * GIB, diskFreeBytes: 50 * GIB, configuration: 'c' }

async function say(process: string, changes: Partial<ProcessReport> = {}, kind: ProcessKind = 'gateway') {
  const [host = ''] = process.split(':')
  const own = { host, startedAtMs: 1_000, version: '1.0.0' }
  const report = { ...NOTHING_REPORTED, shards: [], upstreams: [], ...own, ...GATEWAY, ...changes }
  await announceProcess(pool, { process, kind, maxConnections: 8, clockOffsetMs: 0, report })
}

const silence = (process: string, seconds: number) =>
  pool.query(`update tallygate.processes set at = now() - make_interval(secs => $2) where process = $1`, [
    process,
    seconds,
  ])

async function findingsOf(name: string, nowMs = Date.now()): Promise<readonly Finding[]> {
  const condition = STORE_CONDITIONS.find((one) => one.name === name)
  const ports: StorePorts = { pool, redis: () => Promise.reject(new Error('no')), redisPrefix: '', nowMs }
  const find = condition?.find as ((of: StorePorts) => Promise<Finding | readonly Finding[]>) | undefined
  return [(await find?.(ports)) ?? []].flat()
}

const upstream = (changes = {}) => ({
  upstream: 'openai',
  calls: 10,
  failures: {},
  failedInARow: 0,
  servedInARow: 10,
  causeInARow: null,
  refusesCredential: false,
  failedClient: null,
  othersServed: false,
  circuit: 'closed' as const,
  ...changes,
})

test('processes that run alike, with room and calls that succeed, are nowhere wrong', async () => {
  await say('a:1', { upstreams: [upstream()], certificateEndsAtMs: Date.now() + 30 * 86_400_000 })
  await say('b:1', { upstreams: [upstream({ failures: { server_error: 2 } })] })
  await say('b:2', { configuration: null, journalWritable: null, diskBytes: null }, 'worker')
  for (const name of ['processes', 'releases', 'configurations', 'upstreams', 'disks', 'certificates'])
    expect(await findingsOf(name), name).toMatchObject([{ state: 'ok' }])
  expect(await findingsOf('processes')).toMatchObject([
    { detail: '2 gateways and 1 workers say that they run' },
  ])
})

test('credentials that end have a line each, and one that fails says where, why and what helps', async () => {
  const aws = {
    upstream: 'bedrock',
    kind: 'aws',
    endsAtMs: Date.UTC(2099, 0, 31, 1),
    isUsable: true,
    problem: null,
  }
  const google = { ...aws, upstream: 'vertex', kind: 'google', endsAtMs: null }
  await say('a:1')
  expect(await findingsOf('credentials')).toEqual([])
  await say('a:1', { credentials: [aws, google] })
  await say('b:1', { credentials: [{ ...aws, endsAtMs: Date.UTC(2099, 0, 31) }] })
  expect(await findingsOf('credentials')).toMatchObject([
    { state: 'ok', detail: 'of upstream bedrock: aws, valid until 2099-01-31T00:00:00Z' },
    { state: 'ok', detail: 'of upstream vertex: google, valid without an end' },
  ])
  await say('b:1', { credentials: [{ ...aws, problem: 'STS answered 403' }] })
  expect((await findingsOf('credentials'))[0]).toMatchObject({
    state: 'note',
    detail: expect.stringContaining('cannot be renewed at gateway b:1: STS answered 403'),
    mend: expect.stringContaining('role'),
  })
  await say('b:1', {
    credentials: [{ ...aws, endsAtMs: null, isUsable: false, problem: 'STS answered 403' }],
  })
  expect((await findingsOf('credentials'))[0]).toMatchObject({
    state: 'wrong',
    detail: expect.stringContaining('none is valid at gateway b:1: STS answered 403'),
  })
})

test('a gateway or worker that is silent for 12 s is wrong, an hour later a hint, and not listed after a day', async () => {
  await say('c:1', { steadyMs: 60_000 })
  await say('a:1')
  await say('b:1', {}, 'worker')
  await silence('a:1', 11)
  expect(await findingsOf('processes')).toMatchObject([{ state: 'ok' }])
  await silence('a:1', 13)
  await silence('b:1', 13)
  expect(await findingsOf('processes')).toMatchObject([
    { state: 'wrong', detail: expect.stringMatching(/gateway a:1 for 13.*worker b:1 for 13/) },
  ])
  await silence('a:1', 3_700)
  await silence('b:1', 3_700)
  expect(await findingsOf('processes')).toMatchObject([{ state: 'note' }])
  await silence('a:1', 86_500)
  await silence('b:1', 86_500)
  expect(await findingsOf('processes')).toMatchObject([
    { state: 'ok', detail: '1 gateways and 0 workers say that they run' },
  ])
})

test('processes that could not say anything, as Postgres was away, are not silent; the last one is', async () => {
  await say('a:1')
  await silence('a:1', 60)
  await say('b:1', { steadyMs: 0 }, 'worker')
  expect(await findingsOf('processes')).toMatchObject([{ state: 'ok' }])
  await say('b:1', { steadyMs: 3_000 }, 'worker')
  expect(await findingsOf('processes')).toMatchObject([{ state: 'wrong' }])
  await silence('b:1', 60)
  expect(await findingsOf('processes')).toMatchObject([
    { state: 'wrong', detail: expect.stringMatching(/gateway a:1 .*worker b:1/) },
  ])
})

test('two releases and two configurations are named, each with its processes', async () => {
  await say('a:1')
  await say('b:1', { version: '1.1.0', configuration: 'd' })
  expect(await findingsOf('releases')).toMatchObject([
    { state: 'wrong', detail: '1.0.0: gateway a:1; 1.1.0: gateway b:1' },
  ])
  expect(await findingsOf('configurations')).toMatchObject([
    { state: 'wrong', detail: 'gateways differ: c: gateway a:1; d: gateway b:1' },
  ])
})

test('a report that cannot be read is of another release', async () => {
  await announceProcess(pool, { process: 'a:1', kind: 'worker', maxConnections: 8, clockOffsetMs: 0 })
  expect(await findingsOf('releases')).toMatchObject([
    { state: 'wrong', detail: expect.stringMatching(/^another release: worker a:1; .* \(this command\)$/) },
  ])
})

test('a disk is a hint at 90 %, wrong with less than 10 GiB free, and when it takes nothing more', async () => {
  await say('a:1', { diskFreeBytes: 10 * GIB })
  expect(await findingsOf('disks')).toMatchObject([
    { state: 'note', detail: expect.stringContaining('gateway a:1: 90 %, 10240 MiB are free') },
  ])
  await say('a:1', { diskFreeBytes: 9 * GIB })
  expect(await findingsOf('disks')).toMatchObject([{ state: 'wrong' }])
  await say('a:1', { diskFreeBytes: 0 })
  expect(await findingsOf('disks')).toMatchObject([{ state: 'wrong' }])
  await say('a:1', { journalWritable: false })
  expect(await findingsOf('disks')).toMatchObject([{ state: 'wrong' }])
})

test('a certificate is a hint 14 days before its end, and wrong 3 days before', async () => {
  const end = Date.parse('2026-06-15T00:00:00Z')
  const at = async (day: string) =>
    (await findingsOf('certificates', Date.parse(`${day}T00:00:00Z`)))[0]?.state
  await say('a:1')
  expect(await findingsOf('certificates')).toEqual([])
  await say('b:1', { certificateEndsAtMs: end })
  expect(await at('2026-06-01')).toBe('ok')
  expect(await at('2026-06-02')).toBe('note')
  expect(await at('2026-06-13')).toBe('wrong')
  expect(await at('2026-06-16')).toBe('wrong')
})

test.each([
  ['three calls that reach no server', { calls: 3, failures: { dns: 3 }, failedInARow: 3 }, 'wrong', 'dns'],
  [
    'half of five calls',
    { calls: 5, failures: { server_error: 3 }, failedInARow: 1 },
    'wrong',
    'server error',
  ],
  [
    'what all fail of now, and not what more failed of before',
    {
      calls: 90,
      failures: { rate_limited: 60, server_error: 3 },
      causeInARow: 'server_error',
      failedInARow: 63,
    },
    'wrong',
    'server error',
  ],
  [
    'one refusal of our key',
    { calls: 1, failures: { credential_refused: 1 }, refusesCredential: true },
    'wrong',
    'credential refused',
  ],
  [
    'limits of the account',
    { calls: 9, failures: { rate_limited: 8 }, failedInARow: 8 },
    'note',
    'rate limited',
  ],
] as const)('an upstream fails by its cause: %s', async (_, changes, state, cause) => {
  await say('a:1', { upstreams: [upstream({ servedInARow: 0, ...changes })] })
  expect(await findingsOf('upstreams')).toMatchObject([
    { state, detail: expect.stringContaining(`fail, ${cause}: openai (`), mend: expect.any(String) },
  ])
})

test('an upstream that answers again is well after five calls in a row', async () => {
  const failures = { connect_refused: 30 }
  await say('a:1', { upstreams: [upstream({ calls: 34, failures, servedInARow: 4 })] })
  expect(await findingsOf('upstreams')).toMatchObject([{ state: 'wrong' }])
  await say('a:1', { upstreams: [upstream({ calls: 35, failures, servedInARow: 5 })] })
  expect(await findingsOf('upstreams')).toMatchObject([{ state: 'ok' }])
})

test.each([
  ['server_error', 'note'],
  ['credential_refused', 'note'],
  ['connect_refused', 'wrong'],
] as const)('%s at one client alone, while others are served, is a %s that names the client', async (cause, state) => {
  await pool.query(
    `insert into tallygate.clients (id, name, version) values ('cli_a', 'acme', 1) on conflict (id) do nothing`,
  )
  const failing = { calls: 9, failures: { [cause]: 8 }, failedInARow: 8, failedClient: 'cli_a' }
  await say('a:1', { upstreams: [upstream({ ...failing, othersServed: true })] })
  expect(await findingsOf('upstreams')).toMatchObject([
    { state, detail: expect.stringContaining('openai (8 of 9 calls at gateway a:1, all of client acme)') },
  ])
  await say('a:1', { upstreams: [upstream({ ...failing, othersServed: false })] })
  expect(await findingsOf('upstreams')).toMatchObject([{ state: 'wrong' }])
})
