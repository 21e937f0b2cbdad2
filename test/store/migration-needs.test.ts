import { readdirSync, readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import {
  checkNeeds,
  MIGRATION_NEEDS,
  MigrationRefused,
  type NeedsOptions,
} from '../../src/store/connection/migration-needs.ts'
import type { Postgres } from '../../src/store/connection/postgres.ts'
import { announceProcess } from '../../src/store/processes/processes-table.ts'
import { run } from '../cli/command-line.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  openTestPool,
  type TestDatabase,
} from '../support/servers/database.ts'

const FOLDER = 'src/store/migrations'
/** The first that has to be written for the programs of the release before. */
const FROM = '0031'

let database: TestDatabase | null = null
let pool: Postgres | null = null

afterEach(async () => {
  await pool?.end()
  await database?.drop()
  pool = null
  database = null
})

function connect(made: TestDatabase): Postgres {
  database = made
  pool = openTestPool(made.url, { max: 1 })
  return pool
}

test('every migration with needs is there', () => {
  const names = readdirSync(FOLDER).map((file) => file.replace(/\.sql$/, ''))
  expect(names).toEqual(expect.arrayContaining(Object.keys(MIGRATION_NEEDS)))
})

/** What the programs of the release before do not survive, or wait for. */
const BREAKS =
  /\b(drop (table|column|view|function|index|constraint|not null|type)|rename (to|column|constraint)|alter column \w+ (set data )?type|set not null|add primary key|drop constraint|lock table|truncate)\b/i
const ADDS_REQUIRED = /\badd column (?![^;,]*\bdefault\b)[^;,]*\bnot null\b/i

test.each(
  readdirSync(FOLDER).filter((file) => file.slice(0, 4) >= FROM),
)('%s leaves the programs of the release before at work, or says what it needs', (file) => {
  if (MIGRATION_NEEDS[file.replace(/\.sql$/, '')]?.workersStopped === true) return
  const written = readFileSync(`${FOLDER}/${file}`, 'utf8').replace(/^\s*--.*$/gm, '')
  // A constraint that takes another's name at once: what the programs of before write, it takes too.
  const statements = written.replace(/drop constraint (\w+);\s*alter table \w+ add constraint \1\b/gi, '')
  expect(statements).not.toMatch(BREAKS)
  expect(statements).not.toMatch(ADDS_REQUIRED)
})

test('one that needs the workers stopped is refused while one runs, and says so', async () => {
  const own = connect(await createTestDatabase())
  await own.query(`delete from tallygate.migrations where name = '0022_call_kinds'`)
  await announceProcess(own, { process: 'host:1', kind: 'gateway', maxConnections: 4, clockOffsetMs: 0 })
  await checkNeeds(own, { hasRoom: false })
  await announceProcess(own, { process: 'host:2', kind: 'worker', maxConnections: 4, clockOffsetMs: 0 })
  await expect(checkNeeds(own, { hasRoom: false })).rejects.toThrow(
    /^0022_call_kinds needs the workers stopped, and 1 run \(worker host:2\): stop them/,
  )
  await expect(checkNeeds(own, { hasRoom: true })).rejects.toBeInstanceOf(MigrationRefused)
  const { code, err } = await run({ DATABASE_URL: database?.url ?? '' }, 'migrate')
  expect([code, err]).toEqual([1, expect.stringMatching(/^tallygate: 0022_call_kinds needs the workers/)])
})

test('one that writes large tables again is refused where the disk has no room for them, and says so', async () => {
  const own = connect(await createTestDatabase())
  await own.query(`delete from tallygate.migrations where name = '0011_months_of_usage'`)
  const check = (free: number | null, more: Partial<NeedsOptions> = {}) =>
    checkNeeds(own, { hasRoom: false, smallBytes: 1, findFree: async () => free, ...more })
  await expect(check(0)).rejects.toThrow(
    /^0011_months_of_usage writes [1-9]\d* MiB of daily_usage once more, .* it has 0 MiB: free some, and migrate again\. Nothing was changed$/,
  )
  await expect(check(null)).rejects.toThrow(
    /see that it is there, and migrate again with --has-room\. Nothing/,
  )
  await check(2 ** 40)
  await check(0, { hasRoom: true })
  await check(0, { smallBytes: 2 ** 40 })
  // This machine's own server: its disk is looked at, and has the little that empty tables take.
  await checkNeeds(own, { hasRoom: false, smallBytes: 1 })
})

test('a database without a schema, and one that is up to date, need nothing', async () => {
  await checkNeeds(connect(await createEmptyDatabase()), { hasRoom: false })
  await pool?.end()
  await database?.drop()
  const own = connect(await createTestDatabase())
  await announceProcess(own, { process: 'host:2', kind: 'worker', maxConnections: 4, clockOffsetMs: 0 })
  await checkNeeds(own, { hasRoom: false })
})
