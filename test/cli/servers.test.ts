import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Environment } from '../../src/config/config.ts'
import { createEmptyDatabase, createTestDatabase, type TestDatabase } from '../support/servers/database.ts'
import { testRedisPrefix } from '../support/servers/redis.ts'
import { json, run } from './command-line.ts'

let database: TestDatabase
let folder: string

beforeAll(async () => {
  database = await createTestDatabase()
  folder = mkdtempSync(join(tmpdir(), 'tallygate-cli-'))
})

afterAll(async () => {
  rmSync(folder, { recursive: true })
  await database.drop()
})

/** The environment of a shell in which `npm start` runs with this state. */
function besideRunning(state: object): Environment {
  writeFileSync(join(folder, 'running.json'), JSON.stringify(state))
  return { TALLYGATE_DATA_DIR: folder }
}

function runningState() {
  const { redisUrl, prefix } = testRedisPrefix()
  return {
    pid: process.pid,
    baseUrl: 'http://127.0.0.1:1',
    adminUrl: 'http://127.0.0.1:1',
    databaseUrl: database.url,
    redisUrl,
    redisPrefix: prefix,
    keyPepper: 'pepper',
    adminToken: 'token',
    journalDir: join(folder, 'journal'),
  }
}

test('beside a running npm start nothing need be set', async () => {
  const env = besideRunning(runningState())
  await json(env, 'client', 'create', 'beside')
  expect(await json(env, 'key', 'create', '--client', 'beside')).toMatchObject({ client: 'beside' })
})

test('secrets show has those that a running npm start works with, whatever its folder keeps', async () => {
  const env = besideRunning(runningState())
  writeFileSync(join(folder, 'secrets.json'), JSON.stringify({ keyPepper: 'kept', adminToken: 'kept' }))
  expect(await json(env, 'secrets', 'show')).toEqual({ KEY_PEPPER: 'pepper', ADMIN_TOKEN: 'token' })
})

test('DATABASE_URL of npm start’s own database is completed by what it knows, another one is not', async () => {
  const env = besideRunning(runningState())
  await json({ ...env, DATABASE_URL: database.url }, 'client', 'create', 'completed')
  expect(
    await json({ ...env, DATABASE_URL: database.url }, 'key', 'create', '--client', 'completed'),
  ).toMatchObject({ client: 'completed' })
  const other = { ...env, DATABASE_URL: `${database.url}&application_name=other` }
  expect((await run(other, 'key', 'create', '--client', 'completed')).err).toMatch(/KEY_PEPPER is not set/)
})

test.each([
  ['there is none', null],
  ['it was killed', { ...{ pid: 2 ** 22 + 1 } }],
  ['its file is damaged', 'damaged'],
])('without DATABASE_URL and a running npm start (%s) a command says what it needs', async (_what, state) => {
  const env =
    state === null
      ? { TALLYGATE_DATA_DIR: join(folder, 'nowhere') }
      : besideRunning(typeof state === 'string' ? [state] : { ...runningState(), ...state })
  const { code, out, err } = await run(env, 'client', 'list', '--json')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(JSON.parse(err).error.message).toMatch(/^DATABASE_URL is not set, and no npm start is running here /)
})

test('a database that is away is one line, without its password', async () => {
  const env = { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/db' }
  for (const args of [['client', 'list'], ['usage'], ['migrate'], ['key', 'list']]) {
    const { code, out, err } = await run(env, ...args, '--json')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(JSON.parse(err).error.message).toMatch(/^Postgres cannot be reached: .*ECONNREFUSED/)
    expect(err).not.toContain('hunter2')
  }
})

test('a database that was not set up says so, and migrate sets it up, once', async () => {
  const empty = await createEmptyDatabase()
  try {
    const env = { DATABASE_URL: empty.url }
    expect((await run(env, 'client', 'list')).err).toBe(
      'tallygate: the database is not set up for this release: run tallygate migrate\n',
    )
    expect(await json(env, 'migrate')).toEqual({
      applied: expect.arrayContaining(['0001_ledger', '0002_clients_and_keys']),
    })
    expect(await json(env, 'migrate')).toEqual({ applied: [] })
    expect((await run(env, 'migrate')).out).toBe('The database is up to date.\n')
    expect(await json(env, 'client', 'list')).toEqual([])
  } finally {
    await empty.drop()
  }
})

test('a change of keys is announced to gateways, and works without Redis as well', async () => {
  const { redisUrl, prefix } = testRedisPrefix()
  const listener = new Redis(redisUrl)
  try {
    let announced = 0
    listener.on('message', () => {
      announced += 1
    })
    await listener.subscribe(`${prefix}keys`)
    const env = { DATABASE_URL: database.url, KEY_PEPPER: 'p', REDIS_URL: redisUrl, REDIS_PREFIX: prefix }
    await json(env, 'client', 'create', 'announcing')
    await json(env, 'key', 'create', '--client', 'announcing')
    await json(env, 'client', 'disable', 'announcing')
    await listener.ping()
    expect(announced).toBe(2)
    const without = { ...env, REDIS_URL: 'redis://127.0.0.1:1' }
    expect(await json(without, 'client', 'enable', 'announcing')).toMatchObject({ disabled: false })
  } finally {
    listener.disconnect()
  }
})

test('started as a process, stdout is the document and the exit code tells how it went', async () => {
  const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
  const env = { ...process.env, DATABASE_URL: database.url, REDIS_URL: '', KEY_PEPPER: 'p' }
  const start = (...args: string[]) => promisify(execFile)(process.execPath, [main, ...args], { env })
  const { stdout, stderr } = await start('client', 'create', 'process', '--json')
  expect(JSON.parse(stdout)).toMatchObject({ name: 'process' })
  expect(stderr).toBe('')
  expect((await start('--help')).stdout).toContain('Usage: tallygate')
  expect((await start('--version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  await expect(start('client', 'create', 'process')).rejects.toMatchObject({ code: 1, stdout: '' })
  await expect(start('client')).rejects.toMatchObject({ code: 2, stdout: '' })
})
