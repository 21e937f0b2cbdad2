import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createClient, setClientDisabled } from '../../src/keys/clients.ts'
import { type KeyDirectory, openKeyDirectory } from '../../src/keys/key-directory.ts'
import { selectChangedKeys } from '../../src/keys/key-records.ts'
import { KeyTable } from '../../src/keys/key-table.ts'
import { readKeyState } from '../../src/keys/key-version.ts'
import { createClientKey, revokeKey } from '../../src/keys/keys.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { heldMemory } from '../support/memory.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'

const PEPPER = 'pepper of this test'
const quiet = { info() {}, warn() {}, error() {} }

let database: TestDatabase
let pool: Postgres
const opened: KeyDirectory[] = []

/** 24,000 keys of 4,000 clients, each made by a change of its own, as in life. */
beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    max: 4,
    statementTimeoutMs: 5_000,
    applicationName: 'test many keys',
    log: quiet,
  })
  await pool.query(
    `insert into tallygate.clients (id, name, version)
     select 'cli_' || n, 'client ' || n, n from generate_series(1, 4000) n`,
  )
  await pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     select 'key_' || n, 'cli_' || (1 + n % 4000), 'default', '', sha256(n::text::bytea), '', 4000 + n
     from generate_series(1, 24000) n`,
  )
  await pool.query('update tallygate.key_version set version = 28000')
  await pool.query('analyze tallygate.keys, tallygate.clients')
})
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((directory) => directory.close()))
})
afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function openDirectory(): Promise<KeyDirectory> {
  const directory = openKeyDirectory({
    pool,
    redisUrl: null,
    redisPrefix: '',
    peppers: [PEPPER],
    graceSeconds: 3_600,
    log: quiet,
  })
  opened.push(directory)
  await directory.whenReady()
  return directory
}

async function newKey(client: string) {
  await createClient(pool, client)
  const key = await createClientKey(pool, { client, name: '', models: null, expiresInSeconds: null }, PEPPER)
  if (key === null) throw new Error('the client is there')
  return key
}

/** The statements that a spy has seen, as text. */
const statements = (spy: { mock: { calls: readonly unknown[][] } }) =>
  spy.mock.calls.map(([text]) => String(text))

test('the keys that changed are found by index, however many keys there are', async () => {
  const queries = vi.spyOn(pool, 'query')
  const { version } = await readKeyState(pool)
  await selectChangedKeys(pool, version - 1n)
  const [text = ''] = statements(queries).slice(-1)
  vi.restoreAllMocks()
  const { rows } = await pool.query(
    `explain (analyze, costs off, buffers) ${text.replaceAll('$1', `${version - 1n}`)}`,
  )
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  expect(plan).not.toContain('Seq Scan')
  expect(plan).toContain('keys_version')
  expect(plan).toContain('clients_version')
  const [, pages] = /Buffers: shared hit=(\d+)/.exec(plan) ?? []
  expect(Number(pages)).toBeLessThan(50)
})

test('a changed key, and the keys of a changed client, are read each once', async () => {
  const { version } = await readKeyState(pool)
  const { id } = await newKey('changing')
  await setClientDisabled(pool, 'client 7', true)
  await revokeKey(pool, 'key_6') // of the same client
  const changed = await selectChangedKeys(pool, version)
  expect(changed?.map(({ keyId }) => keyId).sort()).toEqual(
    [id, 'key_6', 'key_4006', 'key_8006', 'key_12006', 'key_16006', 'key_20006'].sort(),
  )
})

test('a reading of changes that fails costs no reading of all keys', async () => {
  const { id, key } = await newKey('after a failure')
  const directory = await openDirectory()
  const { query } = pool
  let failures = 2
  const queries = vi.spyOn(pool, 'query').mockImplementation(async (...given: unknown[]) => {
    if (String(given[0]).includes('union all') && failures-- > 0) throw new Error('the connection broke')
    return await Reflect.apply(query, pool, given)
  })
  await revokeKey(pool, id)
  await vi.waitFor(async () => expect(await directory.find(key)).toMatchObject({ kind: 'key_inactive' }))
  expect(failures).toBeLessThanOrEqual(0)
  expect(statements(queries).filter((text) => text.includes('order by k.id'))).toEqual([])
})

test('more changes than can be read at once are read with all keys', async () => {
  const { key } = await newKey('of many')
  const directory = await openDirectory()
  const { version } = await readKeyState(pool)
  await pool.query(
    `with change as (update tallygate.key_version set version = version + 1 returning version)
     update tallygate.keys k set revoked_at = now(), version = change.version from change`,
  )
  expect(await selectChangedKeys(pool, version)).toBeNull()
  await vi.waitFor(async () => expect(await directory.find(key)).toMatchObject({ kind: 'key_inactive' }))
})

/** One piece of memory, as a text from the server is. */
const asRead = (text: string) => Buffer.from(text).toString('latin1')

test('a key costs less than 400 bytes of memory, and expires at its time', () => {
  const KEYS = 100_000
  const nowMs = Date.UTC(2026, 0, 1)
  const table = new KeyTable([PEPPER])
  const before = heldMemory()
  table.beginReading()
  for (let first = 0; first < KEYS; first += 1_000) {
    const page = Array.from({ length: 1_000 }, (_, index) => {
      const number = first + index
      const digest = Buffer.alloc(32)
      digest.writeUInt32BE(number)
      return {
        keyId: asRead(`key_${String(number).padStart(20, '0')}`),
        keyName: 'default',
        clientId: asRead(`cli_${String(number % 30_000).padStart(20, '0')}`),
        clientName: asRead(`client number ${number % 30_000}`),
        digest,
        models: null,
        expiresAtMs: number < 100 ? nowMs + 1_000 * (number + 1) : null,
        revoked: false,
        clientDisabled: false,
        digestOf: 'key' as const,
        signing: null,
      }
    })
    table.update(page, nowMs)
  }
  expect(table.endReading()).toEqual([])
  const bytes = (heldMemory().heapUsed - before.heapUsed) / KEYS
  expect(table.size).toBe(KEYS)
  expect(bytes).toBeLessThan(400)
  expect(table.expire(nowMs)).toEqual([])
  expect(table.expire(nowMs + 50_500)).toHaveLength(50)
  expect(table.expire(nowMs + 50_500)).toEqual([])
  expect(table.expire(nowMs + 7_200_000)).toHaveLength(50)
})
