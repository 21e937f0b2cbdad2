import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createKey } from '../../src/domain/api-key.ts'
import { createClient } from '../../src/keys/clients.ts'
import { type KeyDirectory, openKeyDirectory } from '../../src/keys/key-directory.ts'
import { createClientKey, revokeKey } from '../../src/keys/keys.ts'
import { migrate } from '../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { busyness } from '../support/patience.ts'
import { startPrivatePostgres, type TestServer } from '../support/servers/servers.ts'

const PEPPER = 'pepper of this test'
const quiet = { info() {}, warn() {}, error() {} }

let server: TestServer
let pool: Postgres
const opened: KeyDirectory[] = []

beforeAll(async () => {
  server = await startPrivatePostgres()
  await migrate(server.url, quiet)
  pool = openPostgres(server.url, {
    max: 4,
    statementTimeoutMs: 1_000,
    applicationName: 'test key outage',
    log: quiet,
  })
  await createClient(pool, 'acme')
})

afterEach(async () => {
  await Promise.all(opened.splice(0).map((directory) => directory.close()))
})

afterAll(async () => {
  await pool.end()
  await server.stop()
})

function openDirectory(graceSeconds: number): KeyDirectory {
  const directory = openKeyDirectory({
    pool,
    redisUrl: null,
    redisPrefix: '',
    peppers: [PEPPER],
    graceSeconds,
    log: quiet,
  })
  opened.push(directory)
  return directory
}

async function newKey() {
  const order = { client: 'acme', name: '', models: null, expiresInSeconds: null }
  const key = await createClientKey(pool, order, PEPPER)
  if (key === null) throw new Error('the client is there')
  return key
}

async function untilReachable(directory: KeyDirectory, reachable: boolean): Promise<void> {
  await vi.waitFor(() => expect(directory.stats().storeReachable).toBe(reachable))
}

test('with Postgres away, known keys go on, unknown ones are undecided, and a change is seen on its return', async () => {
  const [kept, revoked] = [await newKey(), await newKey()]
  const directory = openDirectory(3_600)
  await directory.whenReady()
  await revokeKey(pool, revoked.id)
  await server.kill()
  try {
    await untilReachable(directory, false)
    expect(directory.find(kept.key)).toMatchObject({ kind: 'active' })
    expect(directory.find(createKey())).toEqual({ kind: 'unavailable' })
    expect(directory.find('sk-no-key-of-ours')).toEqual({ kind: 'unknown' })
  } finally {
    await server.start()
  }
  await untilReachable(directory, true)
  expect(directory.find(kept.key)).toMatchObject({ kind: 'active' })
  expect(directory.find(revoked.key)).toMatchObject({ kind: 'key_inactive' })
  expect(await directory.find(createKey())).toEqual({ kind: 'unknown' })
})

test('known keys end with the grace, and live again when Postgres is back', async () => {
  const { key } = await newKey()
  const directory = openDirectory(1)
  await directory.whenReady()
  await server.kill()
  try {
    expect(directory.find(key)).toMatchObject({ kind: 'active' })
    await vi.waitFor(() => expect(directory.find(key)).toEqual({ kind: 'unavailable' }))
    expect(directory.stats().staleMs).toBeGreaterThanOrEqual(1_000)
  } finally {
    await server.start()
  }
  await untilReachable(directory, true)
  expect(directory.find(key)).toMatchObject({ kind: 'active' })
})

test('a Postgres that takes connections and never answers delays unknown keys by seconds only, known ones not', async () => {
  const { key } = await newKey()
  const directory = openDirectory(3_600)
  await directory.whenReady()
  server.freeze()
  try {
    const startedAtMs = performance.now()
    const unknown = directory.find(createKey())
    expect(directory.find(key)).toMatchObject({ kind: 'active' })
    expect(await unknown).toEqual({ kind: 'unavailable' })
    expect(performance.now() - startedAtMs).toBeLessThan(3_000 * busyness())
    expect(directory.find(createKey())).toEqual({ kind: 'unavailable' })
  } finally {
    server.thaw()
  }
  await untilReachable(directory, true)
  expect(await directory.find(createKey())).toEqual({ kind: 'unknown' })
})

test('started without Postgres, it is not ready, refuses nothing for good, and becomes ready by itself', async () => {
  const { key } = await newKey()
  await server.kill()
  const directory = openDirectory(3_600)
  try {
    expect(await directory.find(key)).toEqual({ kind: 'unavailable' })
    expect(directory.ready).toBe(false)
  } finally {
    await server.start()
  }
  await directory.whenReady()
  expect(directory.ready).toBe(true)
  expect(directory.find(key)).toMatchObject({ kind: 'active' })
})
