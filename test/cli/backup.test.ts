import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { announceProcess } from '../../src/store/processes/processes-table.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  openTestPool,
  type TestDatabase,
} from '../support/servers/database.ts'
import { startStack, type TestClient, type TestStack } from '../support/servers/stack.ts'
import { startUpstream, type TestUpstream } from '../support/upstream.ts'
import { json, run } from './command-line.ts'

const CALLS = 12

let folder: string
let file: string
let upstream: TestUpstream
let source: TestDatabase
let client: TestClient
let env: Environment
let usageBefore: unknown
const databases: TestDatabase[] = []

async function call(stack: TestStack, key: string): Promise<number> {
  const answer = await fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] }),
  })
  await answer.arrayBuffer()
  return answer.status
}

/** An empty database; `made` has the schema. */
async function other(made = false): Promise<TestDatabase> {
  const database = await (made ? createTestDatabase() : createEmptyDatabase())
  databases.push(database)
  return database
}

const to = (database: TestDatabase, more: Environment = {}): Environment => ({
  ...env,
  DATABASE_URL: database.url,
  ...more,
})

async function withPool<Result>(url: string, work: (pool: Postgres) => Promise<Result>): Promise<Result> {
  const pool = openTestPool(url)
  try {
    return await work(pool)
  } finally {
    await pool.end()
  }
}

/** All rows of all tables, as one checksum. */
async function fingerprint(url: string): Promise<string> {
  return await withPool(url, async (pool) => {
    const { rows } = await pool.query<{ name: string }>(
      `select c.relname as name from pg_class c where relnamespace = 'tallygate'::regnamespace
       and relkind in ('r', 'p') and not relispartition and relname not in ('processes', 'gateway_journals') order by 1`,
    )
    const hash = createHash('sha256')
    for (const { name } of rows) {
      const found = await pool.query(`select t::text as row from tallygate.${name} t order by 1`)
      hash.update(`${name} ${JSON.stringify(found.rows)}`)
    }
    return hash.digest('hex')
  })
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tallygate-test-backup-'))
  file = join(folder, 'ledger.backup')
  upstream = await startUpstream()
  source = await createTestDatabase()
  databases.push(source)
  const stack = await startStack(upstream.url, { databaseUrl: source.url })
  env = { ...stack.env }
  client = await stack.addClient('acme')
  await json(env, 'limits', 'set', '--client', 'acme', '--budget', '50', '--per', 'month')
  for (let made = 0; made < CALLS; made += 1) expect(await call(stack, client.key)).toBe(200)
  usageBefore = await stack.usageOf(client, CALLS)
  const whileItRuns = join(folder, 'running.backup')
  expect(await json(env, 'backup', whileItRuns)).toMatchObject({ file: whileItRuns })
  await stack.stop()
  expect(await json(env, 'backup', file)).toMatchObject({ file, release: expect.any(String) })
})

afterAll(async () => {
  await upstream?.close()
  for (const database of databases) await database.drop()
  await rm(folder, { recursive: true, force: true })
})

test('only its owner may read a backup', async () => {
  expect((await stat(file)).mode & 0o777).toBe(0o600)
})

test('a restored ledger has the calls, totals, limits and keys of the backup, in a database that had none', async () => {
  const target = await other()
  expect(await json(to(target), 'restore', file)).toMatchObject({ migrated: [], skipped: [] })
  expect(await fingerprint(target.url)).toBe(await fingerprint(source.url))
  const verified = await run(to(target), 'ledger', 'verify')
  expect(verified).toMatchObject({ code: 0, out: expect.stringContaining('0 differences') })
  const stack = await startStack(upstream.url, { databaseUrl: target.url })
  try {
    expect(await stack.usage(client)).toEqual(usageBefore)
    expect(await call(stack, client.key)).toBe(200)
    await stack.usageOf(client, CALLS + 1)
    // Numbers go on behind those of the backup, and rows find the partitions.
    await json(to(target), 'limits', 'set', '--client', 'acme', '--rpm', '600')
    expect(await stack.calls(client)).toHaveLength(CALLS + 1)
  } finally {
    await stack.stop()
  }
})

test('a restore is refused while a gateway or a worker of the database runs, and names it', async () => {
  const target = await other(true)
  await withPool(target.url, (pool) =>
    announceProcess(pool, { process: 'host-a:17', kind: 'gateway', maxConnections: 4, clockOffsetMs: 0 }),
  )
  const before = await fingerprint(target.url)
  const { code, err } = await run(to(target), 'restore', file)
  expect(code).toBe(1)
  expect(err).toContain('gateway host-a:17')
  expect(err).toContain('stop them first')
  expect(await fingerprint(target.url)).toBe(before)
})

test('a restore is refused with another pepper, unless it is said that keys may go', async () => {
  const target = await other(true)
  const before = await fingerprint(target.url)
  const wrong = to(target, { KEY_PEPPER: 'another-pepper-0123456789' })
  const { code, err } = await run(wrong, 'restore', file)
  expect({ code, err }).toMatchObject({
    code: 1,
    err: expect.stringContaining('1 of its keys would not work'),
  })
  expect(await fingerprint(target.url)).toBe(before)
  expect((await run(wrong, 'restore', file, '--force-pepper')).code).toBe(0)
})

test('another ledger that has counted calls is not replaced, unless it is said', async () => {
  const target = await other(true)
  await withPool(target.url, async (pool) => {
    await pool.query(`insert into tallygate.producers (id, stream, mark) values ('p', 's', 7)`)
    await pool.query(`update tallygate.migrations set run_on = run_on + interval '1 s'`)
  })
  const { code, err } = await run(to(target), 'restore', file)
  expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining('has counted 7 calls') })
  expect((await run(to(target), 'restore', file, '--force-identity')).code).toBe(0)
  expect(await fingerprint(target.url)).toBe(await fingerprint(source.url))
})

test('a damaged, cut or foreign file is refused, and nothing is changed', async () => {
  const target = await other(true)
  const before = await fingerprint(target.url)
  const packed = await readFile(file)
  const plain = gunzipSync(packed)
  const changed = Buffer.from(plain)
  const at = changed.indexOf('acme')
  changed.write('emca', at)
  const lines = plain.toString('latin1').split('\n')
  const cases: Readonly<Record<string, Buffer>> = {
    'cut in the packing': packed.subarray(0, packed.length - 20),
    'cut before its end': gzipSync(Buffer.from(`${lines.slice(0, -2).join('\n')}\n`, 'latin1')),
    'a row changed': gzipSync(changed),
    'a byte flipped': Buffer.from(
      packed.map((byte, index) => (index === packed.length >> 1 ? byte ^ 0xff : byte)),
    ),
    'something behind': gzipSync(Buffer.concat([plain, Buffer.from('more\n')])),
    'another gzip file': gzipSync('hello\n'),
    'another file': Buffer.from('hello\n'),
    empty: Buffer.alloc(0),
    'a newer format': gzipSync(plain.toString('latin1').replace('"version":1', '"version":2')),
    'a newer release': gzipSync(
      Buffer.from(plain.toString('latin1').replace('0001_ledger', '9999_ledger'), 'latin1'),
    ),
  }
  for (const [name, bytes] of Object.entries(cases)) {
    const bad = join(folder, 'bad.backup')
    await writeFile(bad, bytes)
    const { code, err } = await run(to(target), 'restore', bad)
    expect({ name, code, err }).toMatchObject({
      name,
      code: 1,
      err: expect.stringMatching(/nothing was changed/),
    })
  }
  expect(await fingerprint(target.url)).toBe(before)
})

test('a restore that is killed half way leaves all as it was', async () => {
  const target = await other(true)
  const before = await fingerprint(target.url)
  await withPool(target.url, async (pool) => {
    const session = await pool.connect()
    try {
      // What the restore drops in the end is being read, so it waits with everything loaded.
      await session.query('begin; set local idle_in_transaction_session_timeout = 0')
      await session.query('lock table tallygate.clients in access share mode')
      const restoring = spawn(process.execPath, ['src/cli/main.ts', 'restore', file], {
        env: { ...process.env, ...to(target) },
        stdio: 'ignore',
      })
      const ended = new Promise((resolve) => restoring.once('exit', resolve))
      await expect
        .poll(async () => {
          const { rows } = await pool.query(
            `select 1 from pg_stat_activity where application_name = 'tallygate restore'
             and datname = current_database() and wait_event_type = 'Lock'`,
          )
          return rows.length
        })
        .toBe(1)
      restoring.kill('SIGKILL')
      await ended
    } finally {
      await session.query('rollback')
      session.release()
    }
  })
  expect(await fingerprint(target.url)).toBe(before)
  expect((await run(to(target), 'restore', file)).code).toBe(0)
})
