import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { announceKeyChange } from '../../src/keys/key-version.ts'
import { type LimitDirectory, openLimitDirectory } from '../../src/limits/directory/limit-directory.ts'
import type { ChangedClients } from '../../src/limits/directory/limit-table.ts'
import { removeLimits, setLimits } from '../../src/limits/table/change-limits.ts'
import { quiet } from '../rollup/records.ts'
import { heldMemory } from '../support/memory.ts'
import { busyness } from '../support/patience.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'
import { budget, type LimitDatabase, openLimitDatabase, requestsAMinute, scopeOf } from './limit-database.ts'

let database: LimitDatabase
const opened: LimitDirectory[] = []

beforeAll(async () => {
  database = await openLimitDatabase()
})
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(opened.splice(0).map((directory) => directory.close()))
  await removeLimits(database.pool, {}, 'test')
})
afterAll(() => database.drop())

async function openDirectory(redis: { redisUrl: string; prefix: string } | null = null) {
  const directory = openLimitDirectory({
    pool: database.pool,
    redisUrl: redis?.redisUrl ?? null,
    redisPrefix: redis?.prefix ?? '',
    log: quiet,
  })
  opened.push(directory)
  await directory.whenReady()
  return directory
}

const set = (clientId: string | null, amount: bigint) =>
  setLimits(database.pool, scopeOf(clientId), [requestsAMinute(amount)], 'test')

/** Resolves when the amounts of a client's limits are these. */
async function untilAmounts(directory: LimitDirectory, clientId: string, amounts: readonly bigint[]) {
  const startedAtMs = performance.now()
  await vi.waitFor(() => expect(directory.of(clientId).map(({ amount }) => amount)).toEqual(amounts), {
    interval: 5,
  })
  return performance.now() - startedAtMs
}

test('a limit that is set, changed or removed is known within a second without Redis', async () => {
  const clientId = await database.newClient('polled')
  const directory = await openDirectory()
  expect(directory.of(clientId)).toEqual([])
  await set(clientId, 10n)
  expect(await untilAmounts(directory, clientId, [10n])).toBeLessThan(1_000 * busyness())
  const [limit] = directory.of(clientId)
  expect(limit).toMatchObject({ clientId, kind: 'requests', keyId: null, model: null, raise: null })
  await set(clientId, 20n)
  await untilAmounts(directory, clientId, [20n])
  expect(directory.of(clientId)[0]?.id).toBe(limit?.id)
  await removeLimits(database.pool, { clientId }, 'test')
  await untilAmounts(directory, clientId, [])
  await set(clientId, 20n)
  await untilAmounts(directory, clientId, [20n])
  expect(directory.of(clientId)[0]?.id).not.toBe(limit?.id)
})

test('with Redis, an announced change is seen long before the next poll', async () => {
  const redis = testRedisPrefix()
  const clientId = await database.newClient('announced')
  const directory = await openDirectory(redis)
  await vi.waitFor(async () =>
    expect(await announceKeyChange(redis.redisUrl, redis.prefix, quiet)).toBe(true),
  )
  const timesMs = []
  for (const amount of [1n, 2n, 3n, 4n, 5n, 6n]) {
    await set(clientId, amount)
    await announceKeyChange(redis.redisUrl, redis.prefix, quiet)
    timesMs.push(await untilAmounts(directory, clientId, [amount]))
  }
  expect(Math.min(...timesMs)).toBeLessThan(200 * busyness())
})

test('a default holds for every client but those with a limit of their own of its sort for all keys', async () => {
  const [own, ofKey, none] = [
    await database.newClient('own'),
    await database.newClient('of a key'),
    await database.newClient('none'),
  ]
  const keyId = await database.newKey('of a key')
  const directory = await openDirectory()
  await set(null, 100n)
  await setLimits(database.pool, scopeOf(null), [budget(7n), budget(6n, { isSoft: true })], 'test')
  await set(own, 5n)
  await setLimits(database.pool, scopeOf(own), [budget(3n)], 'test')
  await setLimits(database.pool, scopeOf(own, { model: 'gpt*' }), [budget(2n)], 'test')
  await setLimits(database.pool, scopeOf(ofKey, { keyId }), [requestsAMinute(4n)], 'test')
  await untilAmounts(directory, own, [5n, 3n, 2n, 6n])
  await untilAmounts(directory, ofKey, [4n, 100n, 7n, 6n])
  await untilAmounts(directory, none, [100n, 7n, 6n])
  expect(directory.of('cli_unknown')).toBe(directory.of(none))
  await removeLimits(database.pool, { clientId: own, sorts: [{ kind: 'requests' }] }, 'test')
  await untilAmounts(directory, own, [3n, 2n, 100n, 6n])
})

test('lists stay the same object, and listeners hear of nothing, until a limit changes', async () => {
  const [changing, other] = [await database.newClient('changing'), await database.newClient('other')]
  await set(changing, 1n)
  await set(other, 1n)
  const directory = await openDirectory()
  const heard: ChangedClients[] = []
  const stop = directory.onChange((clients) => heard.push(clients))
  directory.onChange(() => {
    throw new Error('a listener that fails harms no other')
  })
  const [before, version] = [directory.of(other), directory.version]
  await set(changing, 1n) // as it is: no change
  await set(changing, 2n)
  await untilAmounts(directory, changing, [2n])
  expect(heard).toEqual([new Set([changing])])
  expect(directory.version).toBe(version + 1)
  expect(directory.of(other)).toBe(before)
  await set(null, 9n)
  await vi.waitFor(() => expect(heard).toHaveLength(2))
  expect(heard[1]).toBeNull()
  stop()
})

test('while Postgres does not answer the last known limits hold, and changes are seen on its return', async () => {
  const clientId = await database.newClient('kept')
  await set(clientId, 8n)
  const directory = await openDirectory()
  const { query } = database.pool
  const queries = vi.spyOn(database.pool, 'query').mockRejectedValue(new Error('away'))
  await vi.waitFor(() => expect(directory.stats().storeReachable).toBe(false))
  expect(directory.of(clientId)).toMatchObject([{ amount: 8n }])
  expect(directory.ready).toBe(true)
  queries.mockImplementation((...given: unknown[]) => Reflect.apply(query, database.pool, given))
  await set(clientId, 9n)
  await untilAmounts(directory, clientId, [9n])
  expect(directory.stats().storeReachable).toBe(true)
})

test('after a restore to an earlier state all limits are read again, and lost ones are gone', async () => {
  const [kept, lost] = [await database.newClient('restored'), await database.newClient('lost')]
  await set(kept, 1n)
  await set(lost, 1n)
  const directory = await openDirectory()
  expect(directory.of(lost)).toHaveLength(1)
  await database.pool.query(
    `with gone as (update tallygate.limits set removed_at = now() where client_id = $1)
     update tallygate.limit_version set version = version - 1`,
    [lost],
  )
  await untilAmounts(directory, lost, [])
  expect(directory.of(kept)).toMatchObject([{ amount: 1n }])
})

test('20,000 limits are read page by page, held in a few megabytes, and changed one by one', async () => {
  await database.pool.query(
    `insert into tallygate.clients (id, name, version)
     select 'cli_many' || n, 'many ' || n, 1 from generate_series(1, 10000) n`,
  )
  await database.pool.query(
    `insert into tallygate.limits (client_id, kind, amount, per, version)
     select 'cli_many' || n, kind, 1000000 + n, case kind when 'budget' then 'month' end, 1
     from generate_series(1, 10000) n, unnest('{budget,requests}'::text[]) kind`,
  )
  await database.pool.query('update tallygate.limit_version set version = version + 1')
  await database.pool.query('analyze tallygate.limits')
  const before = heldMemory().heapUsed
  const directory = await openDirectory()
  expect(directory.stats().limits).toBe(20_000)
  expect(heldMemory().heapUsed - before).toBeLessThan(12_000_000)
  expect(directory.of('cli_many77')).toHaveLength(2)
  const queries = vi.spyOn(database.pool, 'query')
  await set('cli_many77', 5n)
  await vi.waitFor(() =>
    expect(directory.of('cli_many77').map(({ amount }) => amount)).toEqual([1_000_077n, 5n]),
  )
  expect(queries.mock.calls.filter(([text]) => String(text).includes('order by l.id'))).toEqual([])
  await emptyTables(database.pool, ['limits'])
})
