import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { inject } from 'vitest'
import { migrate } from '../../../src/store/connection/migrate.ts'
import { moveClock, moveDefaults } from './database-clock.ts'

/** A database of one test or test file. */
export interface TestDatabase {
  readonly url: string
  /** Also ends the connections that are still open. */
  drop(): Promise<void>
}

/** A migrated, empty database, copied from the run's template in some 50 ms. */
export async function createTestDatabase(): Promise<TestDatabase> {
  return await createDatabase(inject('databaseUrl'), 'test', inject('databaseTemplate'))
}

/** A database without our schema, for tests of the migrations themselves. */
export async function createEmptyDatabase(): Promise<TestDatabase> {
  return await createDatabase(inject('databaseUrl'), 'empty', 'template0')
}

/** Makes the database that the others are copied from; once a run. */
export async function makeTemplate(adminUrl: string): Promise<{ name: string; drop(): Promise<void> }> {
  const database = await createDatabase(adminUrl, 'template', 'template0')
  await migrate(database.url, { info() {}, warn() {}, error() {} })
  await moveDefaults(database.url)
  return { name: new URL(database.url).pathname.slice(1), drop: database.drop }
}

async function createDatabase(adminUrl: string, purpose: string, template: string): Promise<TestDatabase> {
  const name = `tallygate_${purpose}_${randomBytes(8).toString('hex')}`
  await administer(adminUrl, `create database ${name} template ${template}`)
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  await moveClock(url.href)
  return {
    url: url.href,
    drop: () => administer(adminUrl, `drop database if exists ${name} with (force)`),
  }
}

async function administer(adminUrl: string, statement: string): Promise<void> {
  const client = new Client({ connectionString: adminUrl })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
