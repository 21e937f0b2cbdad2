import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { databaseName, streamName } from '../../src/domain/redis/redis-names.ts'
import { type Redis, withRedis } from '../../src/store/connection/redis.ts'
import { readDatabaseId } from '../../src/store/ledger/ledger-database.ts'
import { NOTHING_REPORTED, type ProcessReport } from '../../src/store/processes/process-report.ts'
import { announceProcess, keepAnnounced } from '../../src/store/processes/processes-table.ts'
import { StoreClock } from '../../src/store/processes/store-clock.ts'
import { addPages, packPages } from '../../src/usage/outbox/outbox-table.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import { newProducer, quiet } from '../rollup/records.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'
import { json, run } from './command-line.ts'

let ledger: LedgerDatabase
let env: Environment
let folder: string
const keys = testRedisPrefix()

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-repairs-'))
  env = {
    DATABASE_URL: ledger.url,
    REDIS_URL: keys.redisUrl,
    REDIS_PREFIX: keys.prefix,
    JOURNAL_DIR: folder,
    TALLYGATE_DATA_DIR: folder,
  }
})
afterAll(async () => {
  await ledger.drop()
  await keys.drop()
  await rm(folder, { recursive: true, force: true })
})

interface Shown {
  readonly name: string
  readonly state: string
  readonly mend: string | null
}

/** What `doctor` says by that name; absent: nothing. */
async function finding(name: string): Promise<Shown | undefined> {
  const { out } = await run(env, 'doctor', '--json')
  return JSON.parse(out).checks.find((one: Shown) => one.name === name)
}

/** Does what `doctor` prints: the last command in it, with `filled` in place of a word in capitals. */
async function mend(name: string, filled = ''): Promise<string> {
  const found = await finding(name)
  expect(found).toMatchObject({ state: 'wrong', mend: expect.stringContaining('tallygate ') })
  const [command = ''] = /(?<=tallygate )[^;`]*$/.exec(found?.mend ?? '') ?? []
  const { code, out, err } = await run(env, ...command.replace(/[A-Z:]{5,}/, filled).split(' '))
  expect([code, err]).toEqual([0, ''])
  return out
}

test('Kafka that is not wanted any more is turned off by what doctor prints', async () => {
  const { pool } = ledger
  const pages = await packPages([{ key: 'a', event: '{}' }], (event) => event)
  await pool.query(
    `insert into tallygate.call_outbox_state (holder, held_until, waiting_calls, waiting_bytes, oldest_at)
     values ('w', now() + interval '1 hour', 1, 10, now() - interval '2 hours')`,
  )
  const session = await pool.connect()
  await addPages(session, pages)
  session.release()
  expect(await run(env, 'kafka', 'off')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^tallygate: a worker sends calls to Kafka: start the workers without/),
  })
  await pool.query(`update tallygate.call_outbox_state set held_until = now() - interval '1 hour'`)
  expect(await mend('kafka')).toBe(
    '1 calls that waited for Kafka are deleted from there. They are counted all the same.\n',
  )
  expect(await finding('kafka')).toBeUndefined()
  expect((await pool.query('select from tallygate.call_outbox')).rowCount).toBe(0)
})

test('a process that was killed is dropped by what doctor prints, and one that runs is not', async () => {
  const { pool } = ledger
  const report = {
    ...NOTHING_REPORTED,
    host: 'host',
    startedAtMs: 1,
    version: '1',
    shards: [],
    upstreams: [],
  }
  const running = { kind: 'worker', maxConnections: 4, clockOffsetMs: 0, report } as const
  await announceProcess(pool, { ...running, process: 'host-x:1' })
  expect(await run(env, 'processes', 'dismiss', 'host-x:1')).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^tallygate: host-x:1 runs: it said so \d+ s ago, so stop it first/),
  })
  await pool.query(`update tallygate.processes set at = now() - interval '20 s'`)
  expect(await mend('processes', 'host-x:1')).toContain('host-x:1 is named no longer')
  expect(await finding('processes')).toMatchObject({ state: 'ok' })
  expect((await run(env, 'processes', 'dismiss', 'host-x:1')).err).toContain('there is no process host-x:1')
})

/** A gateway of this process, as the table of processes has it. */
function gateway(answer: () => string | null, shown: Partial<ProcessReport> = {}) {
  let reload: ProcessReport['reload'] = null
  return keepAnnounced({
    pool: ledger.pool,
    kind: 'gateway',
    connections: { max: 4 },
    clock: new StoreClock({ log: quiet }),
    announceMs: 0,
    report: async () => ({
      ...NOTHING_REPORTED,
      host: hostname(),
      startedAtMs: 1,
      version: '1',
      openCalls: 0,
      uncommittedRecords: 0,
      ...shown,
      shards: [],
      upstreams: [],
      reload,
    }),
    onReloadAsked(askedAtMs) {
      reload = { askedAtMs, problem: answer() }
    },
  })
}

test('reload has every gateway read its configuration, and says which could not', async () => {
  expect(await run(env, 'reload')).toMatchObject({ code: 1, err: expect.stringContaining('no gateway runs') })
  let asked = 0
  const announced = gateway(() => {
    asked += 1
    return asked === 1 ? null : 'TALLYGATE_CONFIG: prices:1 is wrong'
  })
  const name = `${hostname()}:${process.pid}`
  await expect.poll(async () => (await run(env, 'gateways', 'list')).out).toContain(name)
  expect(await run(env, 'reload')).toEqual({ code: 0, out: `gateway ${name} has read them\n`, err: '' })
  const second = await run(env, 'reload', '--json')
  expect([second.code, JSON.parse(second.out)]).toEqual([
    1,
    [{ process: name, result: 'refused', problem: 'TALLYGATE_CONFIG: prices:1 is wrong' }],
  ])
  expect(asked).toBe(2)
  await announced.stop()
})

test('journal drain waits for the gateways of this host, and says what is left', async () => {
  expect(await run(env, 'journal', 'drain')).toMatchObject({
    code: 0,
    out: 'Nothing is left: all is counted.\n',
  })
  const shown = { uncommittedRecords: 3, openCalls: 1 }
  const announced = gateway(() => null, shown)
  await expect.poll(async () => (await run(env, 'gateways', 'list')).out).toContain(hostname())
  const waits = await run(env, 'journal', 'drain', '--timeout', '0s', '--json')
  expect([waits.code, JSON.parse(waits.out)]).toMatchObject([
    1,
    { drained: false, records: 3, open_calls: 1 },
  ])
  const drained = run(env, 'journal', 'drain', '--timeout', '60s')
  shown.uncommittedRecords = 0
  shown.openCalls = 0
  expect(await drained).toMatchObject({ code: 0 })
  await announced.stop()
})

const inRedis = <Result>(work: (redis: Redis) => Promise<Result>) =>
  withRedis(keys.redisUrl, 10_000, quiet, work)

test('stores of a database that is gone are taken over by what doctor prints', async () => {
  await inRedis((redis) => redis.set(databaseName(keys.prefix), '1.5'))
  await ledger.pool.query('insert into tallygate.streams (name) values ($1) on conflict do nothing', [
    streamName(keys.prefix, 0),
  ])
  expect(await mend('redis prefix')).toContain('0 records were deleted from the streams, and 0 journals')
  expect(await finding('redis prefix')).toBeUndefined()
  const producer = newProducer()
  await mkdir(join(folder, producer))
  await writeFile(join(folder, producer, 'database'), '2.5\n')
  expect(await mend('journals')).toContain('1 journals are counted here')
  expect(await finding('journals')).toMatchObject({ state: 'ok' })
  await expect(readFile(join(folder, producer, 'database'))).rejects.toThrow('ENOENT')
  const own = await readDatabaseId(ledger.pool)
  expect((await run(env, 'ledger', 'claim', own ?? '')).err).toContain('which is not gone')
  // Without a gateway no process ships it.
  expect(await run(env, 'journal', 'drain')).toMatchObject({
    code: 1,
    out: `1 journals are left: no gateway of this host runs: start one, or tallygate journal drain --folder ${folder}.\n`,
  })
  await rm(join(folder, producer), { recursive: true })
})

test('secrets show has what compose and npm start made for themselves', async () => {
  const bare = { ...env, TALLYGATE_DATA_DIR: join(folder, 'data') }
  expect(await run(bare, 'secrets', 'show')).toMatchObject({ code: 1, out: '' })
  await mkdir(join(folder, 'data'))
  await writeFile(
    join(folder, 'data', 'secrets.json'),
    JSON.stringify({ keyPepper: 'p', adminToken: 'a', redisPassword: 'r' }),
  )
  expect(await json(bare, 'secrets', 'show')).toEqual({ KEY_PEPPER: 'p', ADMIN_TOKEN: 'a' })
  const inContainer = { ...bare, KEY_PEPPER: 'of the container' }
  expect(await run(inContainer, 'secrets', 'show', 'KEY_PEPPER')).toMatchObject({
    code: 0,
    out: 'of the container\n',
  })
  expect((await run(bare, 'secrets', 'show', 'redisPassword')).err).toContain(
    'must be KEY_PEPPER or ADMIN_TOKEN',
  )
})
