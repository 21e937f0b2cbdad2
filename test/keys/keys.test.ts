import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashKey, isKeyShaped, pepperId } from '../../src/domain/api-key.ts'
import { createClient, findClient, selectClientPage, setClientDisabled } from '../../src/keys/clients.ts'
import { readKeyState } from '../../src/keys/key-version.ts'
import { createClientKey, revokeKey, selectKeyPage } from '../../src/keys/keys.ts'
import { rotateLimitedKey } from '../../src/limits/table/rotate-limited-key.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { createTestDatabase, openTestPool, type TestDatabase } from '../support/servers/database.ts'

const PEPPER = 'pepper of this test'
const quiet = { info() {}, warn() {}, error() {} }

let database: TestDatabase
let pool: Postgres

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    max: 10,
    statementTimeoutMs: 5_000,
    applicationName: 'test keys',
    log: quiet,
  })
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function newKey(client: string, expiresInSeconds: number | null = null) {
  await createClient(pool, client)
  const key = await createClientKey(pool, { client, name: 'label', models: null, expiresInSeconds }, PEPPER)
  if (key === null) throw new Error('the client is there')
  return key
}

test('a client is made once, however many ask for the name at once', async () => {
  const made = await Promise.all(Array.from({ length: 8 }, () => createClient(pool, 'once')))
  expect(made.filter((client) => client !== null)).toHaveLength(1)
  expect(await findClient(pool, 'once')).toEqual(made.find((client) => client !== null))
})

test('clients are listed by name, and are enabled until disabled', async () => {
  await createClient(pool, 'list b')
  await createClient(pool, 'list a')
  expect(await setClientDisabled(pool, 'list a', true)).toMatchObject({ name: 'list a', disabled: true })
  const names = (await selectClientPage(pool))?.items.filter(({ name }) => name.startsWith('list'))
  expect(names?.map(({ name, disabled }) => [name, disabled])).toEqual([
    ['list a', true],
    ['list b', false],
  ])
  expect(await setClientDisabled(pool, 'list a', false)).toMatchObject({ disabled: false })
  expect(await setClientDisabled(pool, 'nobody', true)).toBeNull()
})

test('the secret of a key is in no column: only its hash under the pepper', async () => {
  const { id, key, prefix } = await newKey('secrets')
  expect(isKeyShaped(key)).toBe(true)
  const { rows } = await pool.query<{ row: string; digest: Buffer; pepper_id: string }>(
    'select keys::text as row, digest, pepper_id from tallygate.keys where id = $1',
    [id],
  )
  expect(rows[0]?.row).not.toContain(key.slice(prefix.length))
  expect(rows[0]?.digest).toEqual(hashKey(key, PEPPER))
  expect(rows[0]?.pepper_id).toBe(pepperId(PEPPER))
})

test('a key for a client that is not there is not made', async () => {
  const order = { client: 'nobody', name: '', models: null, expiresInSeconds: null }
  expect(await createClientKey(pool, order, PEPPER)).toBeNull()
})

test('a key keeps its models and expires by the clock of the database', async () => {
  await createClient(pool, 'limits')
  const order = { client: 'limits', name: 'ci', models: ['gpt-*', 'o3'], expiresInSeconds: 3_600 }
  const key = await createClientKey(pool, order, PEPPER)
  expect(key).toMatchObject({ client: 'limits', name: 'ci', models: ['gpt-*', 'o3'], revokedAt: null })
  expect(Number(key?.expiresAt) - Number(key?.createdAt)).toBe(3_600_000)
  const { key: secret, ...listed } = key ?? {}
  expect(secret).toBeDefined()
  expect((await selectKeyPage(pool, 'limits'))?.items).toEqual([listed])
})

test('revoking twice keeps the first time', async () => {
  const { id } = await newKey('revoked')
  const first = await revokeKey(pool, id)
  expect(first?.revokedAt).toBeInstanceOf(Date)
  expect(await revokeKey(pool, id)).toEqual(first)
  expect(await revokeKey(pool, 'key_none')).toBeNull()
})

test('rotating makes a like key and lets the old one go on for the overlap', async () => {
  await createClient(pool, 'rotated')
  const order = { client: 'rotated', name: 'app', models: ['gpt-*'], expiresInSeconds: 86_400 }
  const old = await createClientKey(pool, order, PEPPER)
  const rotation = await rotateLimitedKey(pool, old?.id ?? '', 60, PEPPER, 'me')
  if (rotation.kind !== 'rotated') throw new Error(rotation.kind)
  const { key } = rotation
  expect(key).toMatchObject({ client: 'rotated', name: 'app', models: ['gpt-*'] })
  expect(key.key).not.toBe(old?.key)
  expect(Number(key.expiresAt) - Number(key.createdAt)).toBe(86_400_000)
  const listed = (await selectKeyPage(pool, 'rotated'))?.items.find(({ id }) => id === old?.id)
  expect(Number(listed?.expiresAt) - Number(key.createdAt)).toBe(60_000)
})

test('an overlap never prolongs a key', async () => {
  const old = await newKey('short', 60)
  await rotateLimitedKey(pool, old.id, 86_400, PEPPER, 'me')
  const listed = (await selectKeyPage(pool, 'short'))?.items.find(({ id }) => id === old.id)
  expect(listed?.expiresAt).toEqual(old.expiresAt)
})

test('a key that is not active is not rotated', async () => {
  const { id } = await newKey('gone')
  await revokeKey(pool, id)
  expect(await rotateLimitedKey(pool, id, 60, PEPPER, 'me')).toEqual({ kind: 'inactive' })
  expect(await rotateLimitedKey(pool, 'key_none', 60, PEPPER, 'me')).toEqual({ kind: 'unknown' })
})

test('a reader that has seen a version has missed no change at or under it', async () => {
  const { id } = await newKey('versions')
  const changes = Promise.all([
    ...Array.from({ length: 40 }, (_, round) => setClientDisabled(pool, 'versions', round % 2 === 0)),
    ...Array.from({ length: 20 }, () => rotateLimitedKey(pool, id, 3_600, PEPPER, 'me')),
    ...Array.from({ length: 20 }, () => newKey('versions')),
  ])
  let done = false
  void changes.finally(() => {
    done = true
  })
  // Its own connections: it would wait behind all changes for one of theirs.
  const reader = openTestPool(database.url, { max: 1 })
  const seen = new Map<bigint, number>()
  while (!done) {
    const { version } = await readKeyState(reader)
    const { rows } = await reader.query<{ count: string }>(
      `select count(*) from tallygate.keys k where k.version <= $1`,
      [version],
    )
    seen.set(version, Number(rows[0]?.count))
  }
  await changes
  await reader.end()
  expect(seen.size).toBeGreaterThan(1)
  const { rows } = await pool.query<{ version: string }>(
    `select created.version from tallygate.keys created order by version`,
  )
  // Only the rotated key was changed after it was made, so it alone may be counted later than it was seen.
  for (const [version, count] of seen) {
    const now = rows.filter((row) => BigInt(row.version) <= version).length
    expect(count - now).toBeGreaterThanOrEqual(0)
    expect(count - now).toBeLessThanOrEqual(1)
  }
})
