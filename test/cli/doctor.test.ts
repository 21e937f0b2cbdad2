import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { BUNDLED } from '#prices/bundled-lists.ts'
import { NO_USAGE } from '../../src/call/usage.ts'
import type { Environment } from '../../src/config/config.ts'
import { workersName } from '../../src/domain/redis/redis-names.ts'
import { checkMemory } from '../../src/ledger/conditions/redis-memory.ts'
import { encodeEntry, tagDatabase } from '../../src/ledger/entry.ts'
import { VERSION } from '../../src/lib/version.ts'
import { checkPriceData, findPriceTroubles } from '../../src/pricing/conditions/price-data.ts'
import { putPriceDoubts } from '../../src/pricing/refresh/price-doubts.ts'
import { type RefreshOutcome, recordPriceRefresh } from '../../src/pricing/refresh/price-refreshes.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { readDatabaseId } from '../../src/store/ledger/ledger-database.ts'
import { announceWorker } from '../../src/store/ledger/shard-leases.ts'
import { NOTHING_REPORTED } from '../../src/store/processes/process-report.ts'
import { announceProcess } from '../../src/store/processes/processes-table.ts'
import {
  clearOutboxProblem,
  holdOutbox,
  leaveOutbox,
  measureOutbox,
} from '../../src/usage/outbox/outbox-state.ts'
import { openLedgerDatabase } from '../rollup/ledger-database.ts'
import { aCandidate, aRecord, newProducer } from '../rollup/records.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  openTestPool,
  type TestDatabase,
} from '../support/servers/database.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { type TestPrefix, testRedisPrefix } from '../support/servers/redis.ts'
import { json, run } from './command-line.ts'

const report = z.strictObject({
  ok: z.boolean(),
  node: z.string(),
  checks: z.array(
    z.strictObject({
      name: z.string(),
      state: z.enum(['ok', 'note', 'wrong']),
      detail: z.string(),
      mend: z.string().nullable(),
    }),
  ),
})

let database: TestDatabase
let pool: Postgres
let keys: TestPrefix
let redis: Redis
let folder: string
let env: Environment

beforeAll(() => {
  redis = new Redis(testRedisPrefix().redisUrl)
  folder = mkdtempSync(join(tmpdir(), 'tallygate-doctor-'))
})

beforeEach(async () => {
  database = await createTestDatabase()
  pool = openTestPool(database.url)
  keys = testRedisPrefix()
  env = {
    DATABASE_URL: database.url,
    REDIS_URL: keys.redisUrl,
    REDIS_PREFIX: keys.prefix,
    KEY_PEPPER: 'new,old',
    JOURNAL_DIR: join(folder, 'journal'),
    TALLYGATE_DATA_DIR: folder,
  }
})

afterEach(async () => {
  await pool.end()
  await database.drop()
  await keys.drop()
})

afterAll(() => {
  redis.disconnect()
  rmSync(folder, { recursive: true })
})

/** What doctor says of one thing, and how it ended. */
async function runChecks(name: string, settings: Environment = env) {
  const { code, out, err } = await run(settings, 'doctor', '--json')
  const { ok, checks } = report.parse(JSON.parse(out))
  expect(err).toBe('')
  expect(code).toBe(ok ? 0 : 1)
  expect(ok).toBe(checks.every(({ state }) => state !== 'wrong'))
  return checks.find((check) => check.name === name)
}

/** As a worker that runs says it. */
async function announce(name = 'a worker') {
  await announceWorker(redis, workersName(keys.prefix), name, 3_600_000)
  const report = {
    ...NOTHING_REPORTED,
    shards: [],
    upstreams: [],
    host: 'w',
    startedAtMs: 0,
    version: VERSION,
  }
  const process = `w:${name}`
  await announceProcess(pool, { process, kind: 'worker', maxConnections: 10, clockOffsetMs: 0, report })
}

test('a sound set of servers has nothing wrong, one line a thing', async () => {
  await announce()
  // However old the prices of the release are.
  for (const kind of ['genai-prices', 'litellm'] as const)
    await recordPriceRefresh(pool, kind, { outcome: 'unchanged', problem: null, url: 'x', etag: null })
  const { code, out } = await run({ ...env, KEY_PEPPER: 'new' }, 'doctor')
  expect(code).toBe(0)
  const names = out
    .trimEnd()
    .split('\n')
    .map((line) => /^(?:ok {3}|note ) {2}([a-z]+(?: [a-z]+)?) {2}/.exec(line)?.[1])
  expect(names).toEqual([
    'postgres',
    'migrations',
    'clock',
    'connections',
    'processes',
    'releases',
    'configurations',
    'upstreams',
    'disks',
    'keys',
    'gaps',
    'dead letters',
    'prices',
    'costly calls',
    'response ids',
    'price data',
    'litellm prices',
    'price configuration',
    'jobs',
    'redis',
    'workers',
    'redis memory',
    'backlog',
    'journals',
  ])
  expect(out).toMatch(/PostgreSQL \d+/)
  expect(out).toMatch(/(Redis|Valkey) \d+\.\d+/)
})

test('servers that are away are each reported, and the others are still checked', async () => {
  const away = {
    ...env,
    DATABASE_URL: 'postgres://u:hunter2@127.0.0.1:1/db',
    REDIS_URL: 'redis://127.0.0.1:1',
  }
  expect(await runChecks('postgres', away)).toMatchObject({ state: 'wrong' })
  expect(await runChecks('redis', away)).toMatchObject({ state: 'wrong' })
  expect(await runChecks('journals', away)).toMatchObject({ state: 'ok' })
  expect((await run(away, 'doctor')).out).not.toContain('hunter2')
})

test('a clock that is off is wrong, and where all machines agree it is that of Postgres', async () => {
  const announce = (process: string, clockOffsetMs: number) =>
    announceProcess(pool, { process, kind: 'gateway', maxConnections: 8, clockOffsetMs })
  await announce('a:1', 3)
  expect(await runChecks('clock')).toMatchObject({ state: 'ok' })
  await announce('b:1', -400 * 86_400_000)
  expect(await runChecks('clock')).toMatchObject({
    state: 'wrong',
    detail: 'gateway b:1 is 400 days ahead of PostgreSQL; calls take the day of PostgreSQL',
    mend: expect.stringContaining('NTP'),
  })
  await announce('a:1', 5_000)
  await announce('b:1', 5_200)
  expect(await runChecks('clock')).toMatchObject({
    detail: 'gateway a:1 is 5.0 s behind PostgreSQL, gateway b:1 is 5.2 s behind PostgreSQL',
    mend: expect.stringContaining('set the clock of the PostgreSQL host'),
  })
})

test('connections are held against max_connections, with the number that all processes would use', async () => {
  const found = await runChecks('connections')
  expect(found?.detail).toMatch(
    /^\d+ in use of \d+, \d+ of them for superusers; 0 gateway processes may take 0/,
  )
  const most = Number(/ in use of (\d+)/.exec(found?.detail ?? '')?.[1])
  const gateways = Math.ceil(most / 8)
  for (let gateway = 0; gateway < gateways; gateway += 1)
    await announceProcess(pool, {
      process: `a:${gateway}`,
      kind: 'gateway',
      maxConnections: 4,
      clockOffsetMs: 0,
    })
  const crowded = await runChecks('connections')
  expect(crowded).toMatchObject({ state: 'note', detail: expect.stringContaining('take turns at fewer') })
  expect(Number(/max_connections = (\d+)/.exec(crowded?.mend ?? '')?.[1])).toBeGreaterThan(most)
})

test('a Postgres without a connection left is no server that is away: one sentence says what to do', async () => {
  const role = `doctor_${randomBytes(6).toString('hex')}`
  await pool.query(`create role ${role} login password 'x' connection limit 0`)
  const url = new URL(database.url)
  url.username = role
  url.password = 'x'
  const full = { ...env, DATABASE_URL: url.href }
  expect(await runChecks('postgres', full)).toMatchObject({
    state: 'wrong',
    detail: expect.stringContaining('refuses: too many connections for role'),
    mend: expect.stringContaining('raise max_connections'),
  })
  expect((await run(full, 'client', 'list')).err).toMatch(
    /^tallygate: PostgreSQL has no connection left: raise/,
  )
  await pool.query(`drop role ${role}`)
})

test('a database that lacks migrations names them', async () => {
  const empty = await createEmptyDatabase()
  try {
    expect(await runChecks('migrations', { ...env, DATABASE_URL: empty.url })).toMatchObject({
      state: 'wrong',
      detail: expect.stringContaining('0001_ledger, 0002_clients_and_keys'),
      mend: 'tallygate migrate',
    })
  } finally {
    await empty.drop()
  }
})

test('no worker at all is wrong, with records and without, and one that runs is counted', async () => {
  expect(await runChecks('workers')).toMatchObject({
    state: 'wrong',
    detail: '0 announced: no call is counted',
    mend: expect.stringContaining('npm run worker'),
  })
  await announce()
  await announce('another')
  expect(await runChecks('workers')).toMatchObject({ state: 'ok', detail: '2 announced' })
  await announceWorker(redis, workersName(keys.prefix), 'older', 3_600_000)
  // A Postgres that answers in more than a second is another line's matter.
  const runAgain = async () => {
    await announce()
    await announce('another')
    return await runChecks('workers')
  }
  await expect.poll(runAgain).toMatchObject({
    state: 'wrong',
    detail: expect.stringMatching(/^3 announced, and 1 of them say nothing of themselves/),
  })
  // One that was killed stays in the set until another announces itself.
  await redis.zadd(workersName(keys.prefix), 1, 'a worker', 1, 'another', 1, 'older')
  expect(await runChecks('workers')).toMatchObject({ state: 'wrong' })
})

test('a Redis without room for a backlog of all gateways is a hint, one that their batches fill is wrong', () => {
  const mib = 1_048_576
  const check = (maxMib: number | null, streams: number, processes: number) =>
    checkMemory({ usedBytes: mib, maxBytes: maxMib === null ? null : maxMib * mib }, streams, processes)
  expect(check(null, 8, 50)).toMatchObject({ state: 'ok', mend: null })
  expect(check(1_024, 4, 8)).toMatchObject({
    state: 'ok',
    detail: '1 MiB of 1024 MiB are used; 4 streams of 8 gateway processes take 215 MiB of it at most',
  })
  expect(check(256, 4, 8)).toMatchObject({
    state: 'note',
    mend: expect.stringContaining('set maxmemory to 429 MiB'),
  })
  expect(check(256, 8, 50)).toMatchObject({ state: 'wrong', mend: expect.stringContaining('STREAM_SHARDS') })
})

test('records that no worker rolls up are wrong once they have waited too long', async () => {
  const stream = `${keys.prefix}calls`
  await pool.query('insert into tallygate.streams (name) values ($1)', [stream])
  await redis.xadd(stream, '*', 'p', 'x')
  expect(await runChecks('backlog')).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^1 records wait/),
  })
  await redis.del(stream)
  const [seconds] = await redis.time()
  await redis.xadd(stream, `${Number(seconds) * 1_000 - 60_000}-0`, 'p', 'x')
  await redis.xadd(stream, '*', 'p', 'x')
  expect(await runChecks('backlog')).toMatchObject({
    state: 'wrong',
    detail: expect.stringMatching(/^2 records wait .* for ([6-9]\d|\d{3}) s$/),
  })
})

test('a Redis prefix that belongs to another database is wrong, and its entries on our streams are named', async () => {
  const stream = `${keys.prefix}calls`
  await pool.query('insert into tallygate.streams (name) values ($1)', [stream])
  await redis.set(`${keys.prefix}database`, (await readDatabaseId(pool)) ?? '')
  expect(await runChecks('redis prefix')).toBeUndefined()
  for (const id of ['1.5', '1.5', (await readDatabaseId(pool)) ?? ''])
    await redis.xadd(stream, '*', ...encodeEntry(newProducer(), 1, '{}', tagDatabase(id)))
  expect(await runChecks('redis prefix')).toMatchObject({
    state: 'note',
    detail: `2 of the oldest records on ${stream} are of another database`,
  })
  await redis.set(`${keys.prefix}database`, '1.5')
  expect(await runChecks('redis prefix')).toMatchObject({
    state: 'wrong',
    detail: expect.stringContaining('belong to the database 1.5'),
    mend: expect.stringContaining('REDIS_PREFIX'),
  })
})

test('gaps and records that could not be counted are wrong', async () => {
  await pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason) values ('p', 3, 7, 'producer_lost')`,
  )
  await pool.query(
    `insert into tallygate.dead_letters (producer, sequence, stream, body, message) values ('p', 1, 's', '', '')`,
  )
  expect(await runChecks('gaps')).toMatchObject({
    state: 'wrong',
    detail: expect.stringMatching(/^5 records/),
  })
  expect(await runChecks('dead letters')).toMatchObject({ state: 'wrong' })
})

test('gaps of more than a week ago are a warning, so that new ones show; those that were filled after all are ok', async () => {
  await pool.query(
    `insert into tallygate.ledger_gaps (producer, from_seq, to_seq, reason, recorded_at)
     values ('p', 3, 7, 'producer_lost', now() - interval '8 days')`,
  )
  await pool.query(
    `insert into tallygate.dead_letters (producer, sequence, stream, body, message, at)
     values ('p', 1, 's', '', '', now() - interval '8 days')`,
  )
  expect(await runChecks('gaps')).toMatchObject({
    state: 'note',
    detail: expect.stringMatching(/^5 records/),
  })
  expect(await runChecks('dead letters')).toMatchObject({
    state: 'note',
    detail: expect.stringMatching(/^1 rec/),
  })
  await pool.query('update tallygate.ledger_gaps set filled_at = now()')
  await pool.query('update tallygate.dead_letters set resolved_at = now()')
  expect(await runChecks('gaps')).toMatchObject({ state: 'ok' })
  expect(await runChecks('dead letters')).toMatchObject({ state: 'ok' })
})

test('journals of another database are wrong, those of this one or of none are not', async () => {
  const journals = join(folder, 'journals-of-databases')
  const [ours, theirs, older] = ['a', 'b', 'c'].map((digit) => join(journals, digit.repeat(32))) as [
    string,
    string,
    string,
  ]
  for (const path of [ours, theirs, older]) mkdirSync(path, { recursive: true })
  writeFileSync(join(ours, 'database'), `${await readDatabaseId(pool)}\n`)
  expect(await runChecks('journals', { ...env, JOURNAL_DIR: journals })).toMatchObject({ state: 'ok' })
  writeFileSync(join(theirs, 'database'), '1700000000.000001\n')
  expect(await runChecks('journals', { ...env, JOURNAL_DIR: journals })).toMatchObject({
    state: 'wrong',
    detail: expect.stringContaining('1 belong to another database'),
  })
})

test('calls without a cost are a warning for each reason, which says what to do', async () => {
  const ledger = await openLedgerDatabase()
  const settings = { ...env, DATABASE_URL: ledger.url }
  try {
    expect(await runChecks('prices', settings)).toMatchObject({ state: 'ok' })
    const silent = { usageSource: 'none', usage: NO_USAGE, costPico: null, priceId: null } as const
    const producer = newProducer()
    const records = [
      aRecord({ ...silent, path: '/v1/videos', unpricedReason: 'no_reader' }),
      aRecord({ ...silent, path: '/v1/videos', unpricedReason: 'no_reader' }),
      aRecord({ ...silent, unpricedReason: 'no_figures' }),
      aRecord({ ...silent, path: '/v1/responses', unpricedReason: 'billed_later' }),
      aRecord({ ...silent, usageSource: 'invalid', unpricedReason: 'invalid_usage' }),
    ]
    await ledger.rollUp(
      'test:calls',
      records.map((record, index) => aCandidate(producer, index + 1, record)),
    )
    expect(await runChecks('prices', settings)).toMatchObject({ state: 'ok' })
    expect(await runChecks('no reader', settings)).toEqual({
      name: 'no reader',
      state: 'note',
      detail: '2 calls of the last 30 days were answered, nothing metered: POST /v1/videos at openai (2)',
      mend: expect.stringContaining('paths'),
    })
    for (const name of ['no figures', 'billed later', 'invalid usage']) {
      expect(await runChecks(name, settings), name).toMatchObject({
        state: 'note',
        detail: expect.stringMatching(/^1 calls .* at openai \(1\)$/),
        mend: expect.stringMatching(/./),
      })
    }
  } finally {
    await ledger.drop()
  }
})

test('prices that were refused are named with the reason; a source that is away is not, for a week', async () => {
  const ledger = await openLedgerDatabase()
  const settings = { ...env, DATABASE_URL: ledger.url }
  const url = 'https://prices.example.com/data.json'
  const record = (outcome: RefreshOutcome, problem: string | null) =>
    recordPriceRefresh(ledger.pool, 'genai-prices', { outcome, problem, url, etag: null })
  try {
    await record('unchanged', null)
    expect(await runChecks('price data', settings)).toMatchObject({
      state: 'ok',
      detail: expect.stringMatching(/genai-prices@[0-9.]+, of this release, fresh on /),
    })
    await record('refused', 'it lists 3 of the 1481 models that are known')
    expect(await runChecks('price data', settings)).toMatchObject({
      state: 'note',
      detail: expect.stringContaining('was not taken: it lists 3 of the 1481 models'),
      mend: expect.stringContaining('prices update --force'),
    })
    await record('unreachable', 'ENOTFOUND')
    expect(await runChecks('price data', settings)).toMatchObject({ state: 'ok' })
    await ledger.pool.query(`update tallygate.price_refreshes set fresh_at = now() - interval '8 days'`)
    expect(await runChecks('price data', settings)).toMatchObject({
      state: 'note',
      detail: expect.stringMatching(/8 days ago: ENOTFOUND/),
    })
    const held = { provider: 'openai', model: 'gpt-4o', why: 'input_mtok from $2.5 to $250', offered: null }
    await putPriceDoubts(ledger.pool, 'genai-prices', [held], url)
    expect(await runChecks('price doubts', settings)).toMatchObject({
      state: 'note',
      detail: expect.stringContaining('openai/gpt-4o: input_mtok from $2.5 to $250'),
      mend: expect.stringContaining('prices accept openai/gpt-4o'),
    })
  } finally {
    await ledger.drop()
  }
})

test('thirty days without a network are wrong, counted from the prices of the release, and ninety an alert too', async () => {
  const ledger = await openLedgerDatabase()
  try {
    const day = (days: number) => Date.parse(BUNDLED['genai-prices'].day) + days * 86_400_000
    const found = async (days: number) => (await checkPriceData(ledger.pool, day(days)))[0]
    expect(await found(6)).toMatchObject({ state: 'ok' })
    expect(await found(7)).toMatchObject({ state: 'note', detail: expect.stringContaining('7 days ago') })
    expect(await found(29)).toMatchObject({ state: 'note' })
    expect(await found(30)).toMatchObject({ state: 'wrong' })
    expect(await found(90)).toMatchObject({
      state: 'wrong',
      detail: expect.stringMatching(
        /^calls are priced by OLD DATA: .*90 days ago: newer ones were never asked/,
      ),
    })
    const alerts = (await findPriceTroubles(ledger.pool, day(90))).map(({ subject }) => subject)
    // The other lists were never asked for, as where they are left unfetched by choice.
    expect(alerts).toEqual(['genai-prices old'])
    expect(await findPriceTroubles(ledger.pool, day(6))).toEqual([])
  } finally {
    await ledger.drop()
  }
})

test('a call that cost too much and ids that came twice are named', async () => {
  const ledger = await openLedgerDatabase()
  const settings = { ...env, DATABASE_URL: ledger.url }
  try {
    expect(await runChecks('costly calls', settings)).toMatchObject({ state: 'ok' })
    expect(await runChecks('response ids', settings)).toMatchObject({ state: 'ok' })
    const producer = newProducer()
    const costly = aRecord({ responseId: 'resp_1', costPico: `${824_600n * 10n ** 12n}`, suspect: true })
    await ledger.rollUp('test:calls', [
      aCandidate(producer, 1, costly),
      aCandidate(producer, 2, aRecord({ responseId: 'resp_1' })),
    ])
    expect(await runChecks('costly calls', settings)).toMatchObject({
      state: 'note',
      detail: expect.stringMatching(new RegExp(`^1 calls .* 824600\\.00 USD, .* call ${costly.callId}$`)),
    })
    expect(await runChecks('response ids', settings)).toMatchObject({
      state: 'note',
      detail: expect.stringContaining('openai (1)'),
    })
  } finally {
    await ledger.drop()
  }
})

test('an upstream whose prices depend on where it serves is asked for its deployment', async () => {
  const ledger = await openLedgerDatabase()
  const settings = { ...env, DATABASE_URL: ledger.url }
  try {
    const priceId = 'openai/gpt-5.4#place_unknown.0123456789ab'
    const unknown = aRecord({ upstream: 'azure', model: 'gpt-5.4', costPico: '1000', priceId })
    await ledger.pool.query(`insert into tallygate.prices values ($1, '{}')`, [priceId])
    await ledger.rollUp('test:calls', [aCandidate(newProducer(), 1, unknown)])
    expect(await runChecks('places', settings)).toMatchObject({
      state: 'note',
      detail: expect.stringMatching(/^1 calls .* at azure .*: gpt-5\.4$/),
      mend: expect.stringMatching(
        /^at Azure set deployment of azure .*; at Bedrock let clients name the place/,
      ),
    })
  } finally {
    await ledger.drop()
  }
})

test('keys under a secret that is gone are wrong, an old secret without keys may go', async () => {
  await json(env, 'client', 'create', 'acme')
  await json({ ...env, KEY_PEPPER: 'older' }, 'key', 'create', '--client', 'acme')
  expect(await runChecks('keys')).toMatchObject({
    state: 'wrong',
    detail: expect.stringMatching(/^1 of 1 active/),
  })
  const both = { ...env, KEY_PEPPER: 'new,older' }
  expect(await runChecks('keys', both)).toMatchObject({ state: 'ok' })
  expect(await runChecks('keys', { ...env, KEY_PEPPER: 'older,oldest' })).toMatchObject({ state: 'note' })
  expect(await runChecks('keys', { ...env, KEY_PEPPER: '' })).toMatchObject({ state: 'note' })
})

test('journals are counted and their sizes added, and a quarantined one is wrong', async () => {
  const producer = join(folder, 'journals', 'a'.repeat(32))
  const settings = { ...env, JOURNAL_DIR: join(folder, 'journals') }
  mkdirSync(producer, { recursive: true })
  writeFileSync(join(producer, 'journal.db'), Buffer.alloc(3 * 1_048_576))
  expect(await runChecks('journals', settings)).toMatchObject({
    state: 'ok',
    detail: expect.stringMatching(/^1 in .*, 3\.0 MiB$/),
  })
  mkdirSync(`${producer}.corrupt`)
  expect(await runChecks('journals', settings)).toMatchObject({ state: 'wrong' })
})

test('a running npm start is asked how it is', async () => {
  let answer = { status: 200, body: {} }
  const gateway = createServer((_request, response) => {
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body))
  })
  await new Promise<void>((resolve) => gateway.listen(0, '127.0.0.1', resolve))
  const { port } = gateway.address() as AddressInfo
  writeFileSync(
    join(folder, 'running.json'),
    JSON.stringify({
      pid: process.pid,
      adminUrl: `http://127.0.0.1:${port}`,
      databaseUrl: database.url,
      redisUrl: keys.redisUrl,
      redisPrefix: keys.prefix,
      keyPepper: 'new',
      journalDir: folder,
    }),
  )
  expect(await runChecks('gateway')).toMatchObject({ state: 'ok' })
  answer = { status: 200, body: { degraded: ['redis'] } }
  expect(await runChecks('gateway')).toMatchObject({ state: 'wrong', detail: 'takes calls, without redis' })
  answer = { status: 503, body: { degraded: ['journal'] } }
  expect(await runChecks('gateway')).toMatchObject({
    state: 'wrong',
    detail: 'takes no calls (503), without journal',
  })
  gateway.closeAllConnections()
  await new Promise((resolve) => gateway.close(resolve))
  expect(await runChecks('gateway')).toMatchObject({ state: 'wrong' })
})

test('jobs submitted and never fetched are reported, the oldest by name; those of today are not', async () => {
  expect(await runChecks('jobs')).toMatchObject({ state: 'ok' })
  const add = async (id: string, hours: number, changes = '') => {
    await pool.query(
      `insert into tallygate.objects (upstream, folded_id, id, kind, client_id, key_id, call_id, created_at, job)
       values ('openai', lower($1), $1, 'batch', 'cli_a', 'key_a', gen_random_uuid(), now() - make_interval(hours => $2), true)`,
      [id, hours],
    )
    if (changes !== '')
      await pool.query(`update tallygate.objects set ${changes} = now() where id = $1`, [id])
  }
  await add('batch_Young', 1)
  expect(await runChecks('jobs')).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('1 jobs submitted'),
  })
  await add('batch_Old', 30)
  await add('batch_Done', 40, 'settled_at')
  await add('batch_Gone', 40, 'deleted_at')
  const finding = await runChecks('jobs')
  expect(finding).toMatchObject({ state: 'note', mend: expect.stringContaining('jobs list') })
  expect(finding?.detail).toMatch(
    /^3 jobs submitted and never fetched, the oldest batch batch_Gone of client cli_a/,
  )
  expect(await json(env, 'jobs', 'list')).toMatchObject([
    { id: 'batch_Gone', deleted_at: expect.any(String) },
    {
      id: 'batch_Old',
      kind: 'batch',
      upstream: 'openai',
      client: 'cli_a',
      key_id: 'key_a',
      model: null,
      deleted_at: null,
    },
    { id: 'batch_Young' },
  ])
  expect((await run(env, 'jobs', 'list')).out).toContain('batch_Old')
  expect((await run(env, 'jobs', 'list', '--client', 'nobody')).code).toBe(1)
})

test('whether calls reach Kafka is reported where a worker has sent any, with what keeps them from it', async () => {
  const all = async () => report.parse(JSON.parse((await run(env, 'doctor', '--json')).out)).checks
  expect((await all()).filter(({ name }) => name.startsWith('kafka'))).toEqual([])

  await holdOutbox(pool, 'a worker')
  expect(await runChecks('kafka')).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('none waits'),
  })
  await leaveOutbox(pool, 'a worker', 'Unknown topic tallygate.calls.')
  expect(await runChecks('kafka')).toMatchObject({
    state: 'wrong',
    detail: 'calls do not reach Kafka: Unknown topic tallygate.calls.; none waits',
    mend: expect.stringContaining('CALLS_KAFKA_'),
  })
  await clearOutboxProblem(pool)
  await pool.query(
    `insert into tallygate.call_outbox (at, events, body) values (now() - interval '5 minutes', 7, '\\x00')`,
  )
  await measureOutbox(pool)
  expect(await runChecks('kafka')).toMatchObject({ state: 'note', detail: expect.stringContaining('7 wait') })
  await pool.query(`update tallygate.call_outbox_state set held_until = now() - interval '10 minutes'`)
  expect(await runChecks('kafka')).toMatchObject({
    state: 'wrong',
    detail: expect.stringContaining('no worker sends calls to Kafka: 7 wait, the oldest since'),
    mend: expect.stringContaining('CALLS_KAFKA_BROKERS'),
  })
  await emptyTables(pool, ['call_outbox'])
  await measureOutbox(pool)
  expect(await runChecks('kafka')).toMatchObject({
    state: 'ok',
    detail: expect.stringContaining('not in use'),
  })
})

test('calls that did not go to Kafka are reported by their days, old ones as a hint', async () => {
  await holdOutbox(pool, 'a worker')
  await pool.query(
    `insert into tallygate.call_outbox_skipped (day, backend, calls) values ('2026-03-04', 1, 5), ('2026-03-06', 2, 7)`,
  )
  expect(await runChecks('kafka outbox')).toMatchObject({
    state: 'wrong',
    detail: '12 calls of 2026-03-04 to 2026-03-06 did not go to Kafka: too many waited',
    mend: expect.stringContaining('--from 2026-03-04 --to 2026-03-06'),
  })
  await pool.query(`update tallygate.call_outbox_skipped set at = now() - interval '8 days'`)
  expect(await runChecks('kafka outbox')).toMatchObject({ state: 'note' })
})
