import { randomBytes } from 'node:crypto'
import { Socket } from 'node:net'
import { Client } from 'pg'
import { inject } from 'vitest'
import { SILENT_LOG } from '../../../src/lib/logger.ts'
import { bundledCatalog, mergedText } from '../../../src/pricing/sources/catalog-sources.ts'
import { addCallDays } from '../../../src/rollup/call-days.ts'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { openPostgres, type Postgres } from '../../../src/store/connection/postgres.ts'
import { moveClock, moveDefaults } from './database-clock.ts'

/** A database of one test or test file. */
export interface TestDatabase {
  readonly url: string
  /** Also ends the connections that are still open. */
  drop(): Promise<void>
}

/** Days whose calls are kept, unless a test says otherwise. */
export const RETENTION_DAYS = 3

/** A migrated, empty database, copied from the run's template in some 20 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return await createDatabase(inject('databaseUrl'), 'test', inject('databaseTemplate'))
}

/** The same on another server than the run's. */
export async function createTestDatabaseAt(adminUrl: string): Promise<TestDatabase> {
  return await createDatabase(adminUrl, 'test', (await makeTemplate(adminUrl)).name)
}

/** Connections that say nothing. A busy machine is slow, not wrong. */
export function openTestPool(url: string, { max = 2, statementTimeoutMs = 10_000 } = {}): Postgres {
  return openPostgres(url, { max, statementTimeoutMs, applicationName: 'test', log: SILENT_LOG })
}

/** A database without our schema, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return await createDatabase(inject('databaseUrl'), 'empty', 'template0')
}

/**
 * Makes the database that the others are copied from; once a run. It has the bundled catalog and a table for each day, as if
 * a gateway and a worker had run there before. Each stack would make these first: a quarter of what a stack takes.
 */
export async function makeTemplate(adminUrl: string): Promise<{ name: string; drop(): Promise<void> }> {
  const database = await createDatabase(adminUrl, 'template', 'template0')
  await migrate(database.url, { info() {}, warn() {}, error() {} })
  await moveDefaults(database.url)
  await storeBundledCatalog(database.url)
  await addDays(database.url)
  return { name: new URL(database.url).pathname.slice(1), drop: database.drop }
}

/** Leaves the database as one has it that keeps no calls. */
export async function dropDays(pool: Postgres): Promise<void> {
  const { rows } = await pool.query<{ table: string }>(
    `select inhrelid::regclass as table from pg_inherits where inhparent = 'tallygate.call_rows'::regclass`,
  )
  await pool.query(`drop table ${rows.map(({ table }) => table).join(', ')}`)
}

async function storeBundledCatalog(url: string): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { source } = bundledCatalog()
    await client.query('insert into tallygate.catalogs (source, data) values ($1, $2)', [
      source,
      mergedText(),
    ])
  } finally {
    await client.end()
  }
}

/** Each day is a table with its indexes: 60 ms of the server for all of them. */
async function addDays(url: string): Promise<void> {
  const pool = openTestPool(url)
  try {
    await addCallDays(pool, RETENTION_DAYS)
  } finally {
    await pool.end()
  }
}

async function createDatabase(adminUrl: string, purpose: string, template: string): Promise<TestDatabase> {
  const name = `tallygate_${purpose}_${randomBytes(8).toString('hex')}`
  // Copied as files: as entries of the log, which is the default, it takes two to three times as much.
  await administer(adminUrl, `create database ${name} template ${template} strategy file_copy`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  // A machine that is busy with other tests answers late, and most tests are not about that.
  url.searchParams.set('connect_timeout', '60')
  await moveClock(url.href)
  return {
    url: url.href,
    drop: () => administer(adminUrl, `drop database if exists ${name} with (force)`),
  }
}

/**
 * Connections to make databases over, by URL: one for the process. Each new one would have to map the server's buffers
 * page by page, which costs four times what the copy does.
 */
const administrators = new Map<string, ReturnType<typeof connect>>()

async function administer(adminUrl: string, statement: string): Promise<void> {
  const known = administrators.get(adminUrl) ?? connect(adminUrl)
  administrators.set(adminUrl, known)
  const { client, socket } = await known
  socket.ref()
  try {
    await client.query(statement)
  } finally {
    // A process that has nothing else left may end.
    socket.unref()
  }
}

async function connect(url: string): Promise<{ readonly client: Client; readonly socket: Socket }> {
  const socket = new Socket()
  const client = new Client({ connectionString: url, stream: () => socket })
  const drop = () => administrators.delete(url)
  client.on('error', drop)
  client.on('end', drop)
  await client.connect().catch((error: unknown) => {
    drop()
    throw error
  })
  return { client, socket }
}
