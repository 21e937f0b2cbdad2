import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { createKey, pepperId } from '../../src/domain/api-key.ts'
import { createClient, setClientDisabled } from '../../src/keys/clients.ts'
import { KEY_CONDITIONS } from '../../src/keys/conditions.ts'
import { type KeyDirectory, openKeyDirectory } from '../../src/keys/key-directory.ts'
import { announceKeyChange } from '../../src/keys/key-version.ts'
import { createClientKey, revokeKey, selectKeyPage } from '../../src/keys/keys.ts'
import { makeSigningSecret } from '../../src/keys/signing-secrets.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { StoreClock } from '../../src/store/processes/store-clock.ts'
import { clockOfDate } from '../clock/clock.ts'
import { heldMemory } from '../support/memory.ts'
import { busyness } from '../support/patience.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'

const PEPPER = 'pepper of this test'
const quiet = { info() {}, warn() {}, error() {} }

let database: TestDatabase
let pool: Postgres
const opened: KeyDirectory[] = []

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    max: 10,
    statementTimeoutMs: 5_000,
    applicationName: 'test key directory',
    log: quiet,
  })
})

afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((directory) => directory.close()))
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

interface DirectoryChoices {
  readonly peppers?: string[]
  readonly redisUrl?: string
  readonly redisPrefix?: string
  readonly clock?: StoreClock
}

async function openDirectory(options: DirectoryChoices = {}) {
  const directory = openKeyDirectory({
    pool,
    redisUrl: options.redisUrl ?? null,
    redisPrefix: options.redisPrefix ?? '',
    peppers: options.peppers ?? [PEPPER],
    graceSeconds: 3_600,
    clock: options.clock ?? new StoreClock({ log: quiet }),
    log: quiet,
  })
  opened.push(directory)
  await directory.whenReady()
  return directory
}

async function newKey(client: string, expiresInSeconds: number | null = null, pepper = PEPPER) {
  await createClient(pool, client)
  const order = { client, name: 'label', models: ['gpt-*'], expiresInSeconds }
  const key = await createClientKey(pool, order, pepper)
  if (key === null) throw new Error('the client is there')
  return key
}

/** Milliseconds until `find` answers with `kind`. */
async function untilKind(directory: KeyDirectory, key: string, kind: string): Promise<number> {
  const startedAtMs = performance.now()
  await vi.waitFor(async () => expect(await directory.find(key)).toMatchObject({ kind }), {
    interval: 5,
  })
  return performance.now() - startedAtMs
}

test('a known key is answered at once, with its caller, without a query', async () => {
  const { id, key } = await newKey('known')
  const directory = await openDirectory()
  expect(directory.ready).toBe(true)
  const queries = vi.spyOn(pool, 'query')
  expect(directory.find(key)).toMatchObject({
    kind: 'active',
    caller: { clientName: 'known', keyId: id, keyName: 'label', models: ['gpt-*'] },
  })
  expect(directory.find(key)).toBe(directory.find(key))
  expect(queries).not.toHaveBeenCalled()
})

test('what has not the form of a key is unknown at once, without a query', async () => {
  const directory = await openDirectory()
  const queries = vi.spyOn(pool, 'query')
  for (const text of [
    '',
    'sk-123',
    `${createKey()}x`,
    createKey().replace(/.$/, '~'),
    'tg_',
    '\0'.repeat(39),
  ]) {
    expect(directory.find(text)).toEqual({ kind: 'unknown' })
  }
  expect(queries).not.toHaveBeenCalled()
})

test('a key made a moment ago is known at its first use', async () => {
  const directory = await openDirectory()
  for (let round = 0; round < 5; round++) {
    const { id, key } = await newKey('fresh')
    expect(await directory.find(key)).toMatchObject({ kind: 'active', caller: { keyId: id } })
  }
})

test('a burst of unknown keys shares few reads of Postgres and holds up no known key', async () => {
  const { key } = await newKey('calm')
  const directory = await openDirectory()
  const queries = vi.spyOn(pool, 'query')
  const startedAtMs = performance.now()
  const answers = []
  for (let round = 0; round < 40; round++) {
    answers.push(...Array.from({ length: 250 }, () => directory.find(createKey())))
    expect(directory.find(key)).toMatchObject({ kind: 'active' })
    await new Promise(setImmediate)
  }
  expect(new Set((await Promise.all(answers)).map(({ kind }) => kind))).toEqual(new Set(['unknown']))
  const seconds = (performance.now() - startedAtMs) / 1_000
  expect(queries.mock.calls.length).toBeLessThanOrEqual(2 + 20 * seconds)
})

test('unknown keys leave nothing in memory', async () => {
  const directory = await openDirectory()
  const round = async () => {
    const answers = Array.from({ length: 5_000 }, () => directory.find(createKey()))
    expect(new Set((await Promise.all(answers)).map(({ kind }) => kind))).toEqual(new Set(['unknown']))
  }
  await round()
  const before = heldMemory().heapUsed
  for (let rounds = 0; rounds < 20; rounds++) await round()
  // Kept, they were 100,000 texts of 40 bytes, with their places in a map.
  expect(heldMemory().heapUsed - before).toBeLessThan(5_000_000)
})

test('a revoked key dies within a second without Redis', async () => {
  const { id, key } = await newKey('revoked')
  const directory = await openDirectory()
  expect(directory.find(key)).toMatchObject({ kind: 'active' })
  await revokeKey(pool, id)
  expect(await untilKind(directory, key, 'key_inactive')).toBeLessThan(1_000 * busyness())
})

test('with Redis, an announced change is seen long before the next poll', async () => {
  const { redisUrl, prefix } = testRedisPrefix()
  const { id, key } = await newKey('announced')
  const directory = await openDirectory({ redisUrl, redisPrefix: prefix })
  await vi.waitFor(async () => expect(await announceKeyChange(redisUrl, prefix, quiet)).toBe(true))
  expect(directory.find(key)).toMatchObject({ kind: 'active' })
  const shortestMs = []
  for (let round = 0; round < 3; round++) {
    for (const disabled of [true, false]) {
      await setClientDisabled(pool, 'announced', disabled)
      await announceKeyChange(redisUrl, prefix, quiet)
      shortestMs.push(await untilKind(directory, key, disabled ? 'client_disabled' : 'active'))
    }
  }
  expect(Math.min(...shortestMs)).toBeLessThan(200 * busyness())
  await revokeKey(pool, id)
})

test('announcing with Redis away fails soon and without an error', async () => {
  const startedAtMs = performance.now()
  expect(await announceKeyChange('redis://127.0.0.1:1', 'x:', quiet)).toBe(false)
  expect(performance.now() - startedAtMs).toBeLessThan(2_000 * busyness())
})

test('a disabled client gets an error that says so, and is let in again when enabled', async () => {
  const { key } = await newKey('disabled')
  const directory = await openDirectory()
  await setClientDisabled(pool, 'disabled', true)
  await untilKind(directory, key, 'client_disabled')
  await setClientDisabled(pool, 'disabled', false)
  await untilKind(directory, key, 'active')
})

test('a key is inactive from the moment it expires', async () => {
  const { key, expiresAt } = await newKey('expiring', 3_600)
  const directory = await openDirectory({ clock: clockOfDate() })
  expect(directory.find(key)).toMatchObject({ kind: 'active' })
  vi.spyOn(Date, 'now').mockReturnValue(Number(expiresAt) - 1)
  expect(directory.find(key)).toMatchObject({ kind: 'active' })
  vi.spyOn(Date, 'now').mockReturnValue(Number(expiresAt))
  expect(directory.find(key)).toMatchObject({ kind: 'key_inactive', isExpired: true })
})

test('a key expires by the clock of Postgres where this machine has another day', async () => {
  const { key } = await newKey('expiring elsewhere', 3_600)
  const wallNow = () => Date.now() + 400 * 86_400_000
  const directory = await openDirectory({ clock: new StoreClock({ log: quiet, wallNow }) })
  expect(directory.find(key)).toMatchObject({ kind: 'active' })
})

test('listeners hear once of every key that stops being active, whatever ended it', async () => {
  const revoked = await newKey('ends by revocation')
  const expired = await newKey('ends by time', 60)
  const disabled = await newKey('ends by its client')
  const lost = await newKey('ends by a restored database')
  const directory = await openDirectory({ clock: clockOfDate() })
  const heard: string[] = []
  const stop = directory.onDeactivated((keyId) => heard.push(keyId))
  directory.onDeactivated(() => {
    throw new Error('a listener that fails harms no other')
  })
  await revokeKey(pool, revoked.id)
  await setClientDisabled(pool, 'ends by its client', true)
  vi.spyOn(Date, 'now').mockReturnValue(Number(expired.expiresAt))
  await vi.waitFor(() => expect(heard).toHaveLength(3))
  await pool.query(
    `with gone as (delete from tallygate.keys where id = $1)
                    update tallygate.key_version set version = version - 1`,
    [lost.id],
  )
  await vi.waitFor(() => expect(heard).toHaveLength(4))
  expect(new Set(heard)).toEqual(new Set([revoked.id, expired.id, disabled.id, lost.id]))
  expect(await directory.find(lost.key)).toEqual({ kind: 'unknown' })
  stop()
})

test('while the pepper changes, keys hashed with either are known', async () => {
  const old = await newKey('peppers', null, 'old pepper')
  const young = await newKey('peppers', null, 'new pepper')
  const both = await openDirectory({ peppers: ['new pepper', 'old pepper'] })
  expect(both.find(old.key)).toMatchObject({ kind: 'active', caller: { keyId: old.id } })
  expect(both.find(young.key)).toMatchObject({ kind: 'active', caller: { keyId: young.id } })
  const onlyNew = await openDirectory({ peppers: ['new pepper'] })
  expect(await onlyNew.find(old.key)).toEqual({ kind: 'unknown' })
})

describe('a signing secret', () => {
  const HOLD = (secret: string) => (given: string) => given === secret

  async function newSigner(client: string, pepper = PEPPER) {
    const key = await newKey(client, null, pepper)
    const made = await makeSigningSecret(pool, key.id, pepper)
    if (typeof made === 'string') throw new Error(made)
    return { ...key, secret: made.secretAccessKey }
  }

  test('proves its key, counts as a use of it, and ends when another is made or the key is revoked', async () => {
    const directory = await openDirectory()
    const { id, secret } = await newSigner('signs')
    expect(await directory.findSigner(id)).toMatchObject({
      kind: 'active',
      caller: { clientName: 'signs', keyId: id, models: ['gpt-*'] },
    })
    expect(directory.provesSigner(id, HOLD(secret))).toBe(true)
    expect(directory.provesSigner(id, HOLD('another'))).toBe(false)
    const other = await makeSigningSecret(pool, id, PEPPER)
    if (typeof other === 'string') throw new Error(other)
    await vi.waitFor(() => expect(directory.provesSigner(id, HOLD(other.secretAccessKey))).toBe(true))
    expect(directory.provesSigner(id, HOLD(secret))).toBe(false)
    await vi.waitFor(async () => {
      const [key] = (await selectKeyPage(pool, 'signs'))?.items ?? []
      expect(key?.lastUsedAt).toBeInstanceOf(Date)
    })
    await revokeKey(pool, id)
    await vi.waitFor(() => expect(directory.findSigner(id)).toMatchObject({ kind: 'key_inactive' }))
    expect(await makeSigningSecret(pool, id, PEPPER)).toBe('inactive')
    expect(await makeSigningSecret(pool, 'key_unknown', PEPPER)).toBe('unknown')
  })

  test('stands nowhere in Postgres, and is of no use with another pepper', async () => {
    const { id, secret } = await newSigner('peppers of signers', 'old pepper')
    const { rows } = await pool.query(
      'select row_to_json(k)::text as row from tallygate.keys k where id = $1',
      [id],
    )
    expect(rows[0]?.row).not.toContain(secret)
    expect(rows[0]?.row).not.toContain(Buffer.from(secret, 'base64url').toString('hex'))
    const both = await openDirectory({ peppers: ['new pepper', 'old pepper'] })
    expect(both.findSigner(id)).toMatchObject({ kind: 'active' })
    expect(both.provesSigner(id, HOLD(secret))).toBe(true)
    const onlyNew = await openDirectory({ peppers: ['new pepper'] })
    expect(await onlyNew.findSigner(id)).toEqual({ kind: 'unknown' })
    expect(onlyNew.provesSigner(id, HOLD(secret))).toBe(false)
  })

  test('is not that of a key that has none, or of what is not a key', async () => {
    const { id } = await newKey('bearer only')
    const directory = await openDirectory()
    expect(await directory.findSigner(id)).toEqual({ kind: 'unknown' })
    expect(directory.findSigner('AKIAIOSFODNN7EXAMPLE')).toEqual({ kind: 'unknown' })
  })

  test('that needs a pepper which is gone is named by doctor, with the command that helps', async () => {
    const { find } = KEY_CONDITIONS[0] ?? {}
    await newSigner('doctor', PEPPER)
    await pool.query("update tallygate.keys set pepper_id = $1 where pepper_id <> 'x'", [pepperId(PEPPER)])
    await pool.query(
      "update tallygate.keys set sigv4_pepper_id = 'gone' where name = 'label' and sigv4_salt is not null",
    )
    expect(await find?.({ pool, keyPeppers: [PEPPER] })).toMatchObject({
      state: 'wrong',
      detail: expect.stringMatching(/the signing secrets of \d+ active keys/),
      mend: expect.stringContaining('key sigv4 ID'),
    })
  })
})

test('the last use of a key is recorded soon, once a minute, and not for refused keys', async () => {
  const used = await newKey('used')
  const refused = await newKey('used')
  await revokeKey(pool, refused.id)
  const directory = await openDirectory()
  directory.find(used.key)
  directory.find(refused.key)
  const lastUses = async () => {
    const keys = (await selectKeyPage(pool, 'used'))?.items ?? []
    return [used, refused].map(({ id }) => keys.find((key) => key.id === id)?.lastUsedAt ?? null)
  }
  await vi.waitFor(async () => expect((await lastUses())[0]).toBeInstanceOf(Date))
  const [first] = await lastUses()
  for (let round = 0; round < 100; round++) directory.find(used.key)
  await directory.close()
  expect(await lastUses()).toEqual([first, null])
})

test('many keys are read page by page, and all are known', async () => {
  const made = await Promise.all(Array.from({ length: 3 }, () => newKey('many')))
  await pool.query(
    `insert into tallygate.keys (id, client_id, name, prefix, digest, pepper_id, version)
     select 'key_' || n, c.id, '', '', sha256(n::text::bytea), '', 1
     from generate_series(1, 5000) n, tallygate.clients c where c.name = 'many'`,
  )
  const directory = await openDirectory()
  expect(directory.stats().keys).toBeGreaterThanOrEqual(5_003)
  for (const { key } of made) expect(directory.find(key)).toMatchObject({ kind: 'active' })
})
