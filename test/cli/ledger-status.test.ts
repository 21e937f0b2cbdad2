import { randomBytes } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { openRedis, untilReady } from '../../src/store/connection/redis.ts'
import { type LedgerDatabase, openLedgerDatabase } from '../rollup/ledger-database.ts'
import {
  aCandidate,
  aForeignEntry,
  aGapMarker,
  append,
  aRecord,
  newProducer,
  quiet,
} from '../rollup/records.ts'
import { patienceMs } from '../support/patience.ts'
import { emptyTables } from '../support/servers/empty-tables.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'
import { json, run } from './command-line.ts'

let ledger: LedgerDatabase
let env: Environment
let folder: string
let stream: string
let producer: string
const redisKeys = testRedisPrefix()

beforeAll(async () => {
  ledger = await openLedgerDatabase()
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-status-'))
  stream = `${redisKeys.prefix}calls`
  env = { DATABASE_URL: ledger.url, REDIS_URL: redisKeys.redisUrl, JOURNAL_DIR: folder }
})
afterAll(async () => {
  await ledger.drop()
  await redisKeys.drop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  producer = newProducer()
  await emptyTables(ledger.pool, [
    'daily_usage',
    'call_rows',
    'producers',
    'ledger_gaps',
    'dead_letters',
    'responses_seen',
    'streams',
    'prices',
  ])
})

test('the status says how far each producer is counted, what waits, and what its journal takes', async () => {
  await ledger.pool.query('insert into tallygate.streams (name) values ($1)', [stream])
  await ledger.rollUp(stream, [aCandidate(producer, 1), aGapMarker(producer, 2, 5), aCandidate(producer, 6)])
  await mkdir(join(folder, producer))
  await writeFile(join(folder, producer, 'journal.db'), Buffer.alloc(2_097_152))
  const silent = newProducer()
  await mkdir(join(folder, silent))
  const redis = openRedis(redisKeys.redisUrl, {
    name: 'test',
    whenAway: 'fail',
    silenceMs: 3_000,
    log: quiet,
  })
  await untilReady(redis, patienceMs())
  await append(redis, stream, producer, 7, [aRecord(), aRecord()])
  redis.disconnect()

  expect(await json(env, 'ledger', 'status')).toMatchObject({
    streams: [{ name: stream, waiting: 2, oldest_ms: expect.any(Number) }],
    producers: [{ producer, stream, mark: 6, journal_bytes: 2_097_152 }],
    journals_not_counted_from: [silent],
    gaps: 1,
    missing_records: 4,
    dead_letters: 0,
  })
  const { out } = await run(env, 'ledger', 'status')
  expect(out).toMatch(new RegExp(`${producer} +${stream} +6 +.*2.0 MiB`))
  expect(out).toMatch(new RegExp(`${silent} +never +0.0 MiB`))
  expect(await json(env, 'ledger', 'gaps')).toMatchObject([
    { producer, from: 2, to: 5, records: 4, reason: 'journal_pruned' },
  ])
  expect((await run(env, 'ledger', 'gaps')).out).toContain('4 records are missing')
})

test('without Redis the status tells what Postgres knows, and why the rest is missing', async () => {
  await ledger.pool.query('insert into tallygate.streams (name) values ($1)', [stream])
  const { code, out } = await run({ ...env, REDIS_URL: 'redis://127.0.0.1:1' }, 'ledger', 'status')
  expect(code).toBe(0)
  expect(out).toMatch(new RegExp(`^${stream} +\\? +\\?$`, 'm'))
  expect(out).toContain('ECONNREFUSED')
  expect((await run(env, 'ledger', 'gaps')).out).toBe('No record is missing.\n')
})

test('a dead letter is shown, counted once however often it is tried, and then no longer in the way', async () => {
  const objects = [{ id: 'file-\0', kind: 'file', is: 'created', job: false }] as const
  const poison = aCandidate(producer, 2, aRecord({ path: '/v1/\0', clientId: 'cli_dead', objects }))
  await ledger.rollUp(stream, [aCandidate(producer, 1), poison, aCandidate(producer, 3)])
  expect(await ledger.counts()).toMatchObject({ requests: 2, deadLetters: 1 })
  const id = `${producer}/2`
  expect(await json(env, 'dead-letters', 'list')).toMatchObject([
    { id, sqlstate: '22P05', resolved_at: null },
  ])
  expect(await json(env, 'dead-letters', 'show', id)).toMatchObject({ id, body: poison.body })
  expect((await run(env, 'doctor')).out).toContain('1 records could not be counted')

  const both = await Promise.all([1, 2].map(() => json(env, 'dead-letters', 'retry', id)))
  expect(
    both
      .flat()
      .map((outcome) => (outcome as { result: string }).result)
      .sort(),
  ).toEqual(['counted', 'counted_before'])
  await json(env, 'dead-letters', 'retry', '--all')
  expect(await ledger.counts()).toMatchObject({ requests: 3, inputTokens: 300, calls: 3 })
  const { rows } = await ledger.pool.query("select path from tallygate.calls where client_id = 'cli_dead'")
  expect(rows).toEqual([{ path: '/v1/\ufffd' }])

  // The same entry, should it come again, is a duplicate as before.
  await ledger.rollUp(stream, [poison])
  expect(await ledger.counts()).toMatchObject({ requests: 3 })
  expect(await json(env, 'dead-letters', 'list')).toEqual([])
  expect(await json(env, 'dead-letters', 'list', '--all')).toMatchObject([{ id }])
  expect((await run(env, 'doctor')).out).toContain('every record could be counted')
  const { rows: proof } = await ledger.pool.query('select sum(mark)::int as mark from tallygate.producers')
  expect(proof).toEqual([{ mark: 3 }])
})

test('a retried entry that is not a record stays a dead letter, and the command says so', async () => {
  const long = aRecord({ clientId: randomBytes(9_000).toString('base64') })
  await ledger.rollUp(stream, [aForeignEntry(producer, 1), aCandidate(producer, 2, long)])
  const { code, out } = await run(env, 'dead-letters', 'retry', '--all')
  expect(code).toBe(1)
  expect(out).toContain(`${producer}/1 cannot be counted: its body is not a record`)
  expect(out).toContain(`${producer}/2 counted`)
  expect(await json(env, 'dead-letters', 'list')).toHaveLength(1)
  expect(await ledger.counts()).toMatchObject({ requests: 1 })
})

test('a retry names an entry that is not a dead letter, and needs an entry to be named', async () => {
  expect((await run(env, 'dead-letters', 'show', `${producer}/9`)).err).toContain('there is no dead letter')
  expect((await run(env, 'dead-letters', 'retry', `${producer}/9`)).code).toBe(1)
  expect((await run(env, 'dead-letters', 'retry')).err).toContain(
    '[id] is missing: name a dead letter, or say --all',
  )
  expect((await run(env, 'dead-letters', 'show', 'x/1')).code).toBe(2)
})
