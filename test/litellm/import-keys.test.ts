import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openKeyDirectory } from '../../src/keys/key-directory.ts'
import { openPostgres, type Postgres } from '../../src/store/connection/postgres.ts'
import { json, run } from '../cli/command-line.ts'
import { createTestDatabase, type TestDatabase } from '../support/servers/database.ts'

const quiet = { info() {}, warn() {}, error() {} }
const tokenOf = (key: string) => createHash('sha256').update(key).digest('hex')

let database: TestDatabase
let pool: Postgres
const folder = mkdtempSync(join(tmpdir(), 'tallygate-import-'))
const env = () => ({ DATABASE_URL: database.url, KEY_PEPPER: 'new,old' })

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPostgres(database.url, {
    max: 4,
    statementTimeoutMs: 5_000,
    applicationName: 'test of an import',
    log: quiet,
  })
  // LiteLLM's tables, with the columns that the test needs. Its own are those of `npm run test:litellm`.
  await pool.query(`create table public."LiteLLM_VerificationToken" (token text primary key, key_alias text, team_id text,
      user_id text, models text[], expires timestamp, max_budget float8, budget_duration text, rpm_limit bigint,
      blocked boolean, spend float8);
    create table public."LiteLLM_TeamTable" (team_id text primary key, team_alias text, max_budget float8, models text[]);
    create table public."LiteLLM_UserTable" (user_id text primary key);
    create table public."LiteLLM_BudgetTable" (budget_id text primary key)`)
  await pool.query(
    `insert into public."LiteLLM_TeamTable" values ('t1', 'Search', 100, '{gpt-4o,gpt-4o-mini}')`,
  )
  await pool.query(
    `insert into public."LiteLLM_VerificationToken" values
      ($1, 'one', 't1', null, '{all-team-models}', null, 5, '1d', 60, null, 0),
      ($2, 'blocked', 't1', null, '{}', null, null, null, null, true, 0),
      ($3, 'lies', null, null, '{}', null, 'NaN', null, null, null, 'Infinity')`,
    [tokenOf('sk-one'), tokenOf('sk-blocked'), tokenOf('sk-lies')],
  )
})

afterAll(async () => {
  rmSync(folder, { recursive: true })
  await pool.end()
  await database.drop()
})

const importing = (...more: string[]) =>
  json(env(), 'key', 'import', '--from', 'litellm', '--database', `${database.url}&schema=public`, ...more)

async function lookUp(...keys: string[]) {
  const directory = openKeyDirectory({
    pool,
    redisUrl: null,
    redisPrefix: '',
    peppers: ['new'],
    graceSeconds: 60,
    log: quiet,
  })
  try {
    await directory.whenReady()
    return await Promise.all(keys.map((key) => directory.find(key)))
  } finally {
    await directory.close()
  }
}

test('a dry run says what an import does, and does nothing', async () => {
  const dry = await importing('--dry-run')
  expect(dry).toMatchObject({ dry_run: true, taken: 2, known: 0, left: 1, clients_made: ['Search'] })
  expect((await pool.query('select from tallygate.keys')).rows).toHaveLength(0)
  expect((await pool.query('select from tallygate.clients')).rows).toHaveLength(0)
})

test('keys work as they are, two imports at once take them once, and another changes nothing', async () => {
  const [one, other] = await Promise.all([importing(), importing()])
  const taken = [one, other].map((document) => Object(document).taken)
  expect(taken.toSorted()).toEqual([0, 2])
  expect(await importing()).toMatchObject({ taken: 0, known: 2, left: 1, clients_made: [] })

  const [active, blocked, left, hash, typo] = await lookUp(
    'sk-one',
    'sk-blocked',
    'sk-lies',
    tokenOf('sk-one'),
    `tg_${'a'.repeat(36)}`,
  )
  expect(active).toMatchObject({
    kind: 'active',
    caller: { clientName: 'Search', keyName: 'one', models: ['gpt-4o', 'gpt-4o-mini'] },
  })
  expect([blocked, left, hash, typo].map((found) => found?.kind)).toEqual([
    'key_inactive',
    'unknown',
    'unknown',
    'unknown',
  ])
  expect(await json(env(), 'limits', 'show', '--client', 'Search')).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'budget', per: 'total', limit: '100', key: null }),
      expect.objectContaining({ kind: 'budget', per: 'day', limit: '5' }),
      expect.objectContaining({ kind: 'requests', limit: 60 }),
    ]),
  )
})

test('a key of an import before is known under whichever pepper it was hashed with', async () => {
  const turned = { ...env(), KEY_PEPPER: 'newest,new' }
  expect(await json(turned, 'key', 'import', '--from', 'litellm', '--database', database.url)).toMatchObject({
    taken: 0,
    known: 2,
  })
})

test('an account there never gets into a client that was made here', async () => {
  const file = join(folder, 'tables.json')
  await json(env(), 'client', 'create', 'ops')
  const tables = {
    keys: [{ token: tokenOf('sk-ops'), team_id: 't9' }],
    teams: [{ team_id: 't9', team_alias: 'ops' }],
  }
  // psql writes a row a line.
  writeFileSync(file, JSON.stringify(tables, null, '\t'))
  const document = await json(env(), 'key', 'import', '--from', 'litellm', '--file', file)
  expect(document).toMatchObject({ taken: 1, clients_made: ['ops (litellm t9)'] })
})

test('a table, a file or a database that cannot be read is refused in a sentence', async () => {
  const file = join(folder, 'bad.json')
  writeFileSync(file, '{"keys": 5}')
  for (const [args, text] of [
    [['--file', file], 'keys must be a list of rows'],
    [['--file', '/nowhere'], 'cannot be read'],
    [[], 'must be the one place where the rows are'],
    [['--database', 'x', '--file', file], 'must be the one place where the rows are'],
    [['--database', 'x'], 'must be a postgresql:// URL'],
  ] as const) {
    const { code, err } = await run(env(), 'key', 'import', '--from', 'litellm', ...args)
    expect([code > 0, err]).toEqual([true, expect.stringContaining(text)])
  }
})
