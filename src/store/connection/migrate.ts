import { fileURLToPath } from 'node:url'
import { runner } from 'node-pg-migrate'
import pg from 'pg'
import type { Logger } from '../../lib/logger.ts'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import { SCHEMA } from './schema.ts'

/** Where the runner notes what was applied, in the same schema. */
const MIGRATIONS_TABLE = 'migrations'

/**
 * Brings the database to the schema this release needs. Two runners at once are safe: the second waits, then
 * finds nothing to do. All that is pending is applied in one transaction, or nothing.
 *
 * @returns The names of the migrations applied now, in order.
 * @throws When the server is away, or a migration fails.
 */
export async function migrate(databaseUrl: string, log: Logger): Promise<string[]> {
  // A connection of our own: the runner neither listens to the errors of one that it opens nor waits for its end.
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'tallygate migrate' })
  // When the server ends the session, the query under way rejects; without a listener the event would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    return await applyPending(client, log)
  } finally {
    await client.end()
  }
}

async function applyPending(client: pg.Client, log: Logger): Promise<string[]> {
  const applied = await runner({
    dbClient: client,
    dir: fileURLToPath(new URL('../migrations', import.meta.url)),
    direction: 'up',
    migrationsTable: MIGRATIONS_TABLE,
    schema: SCHEMA,
    createSchema: true,
    singleTransaction: true,
    // A database may have a later one already, from a state of the source that did not have all before it.
    checkOrder: false,
    advisoryLockMode: 'wait',
    lockValue: ADVISORY_LOCKS.migrations,
    logger: {
      debug: () => {},
      info: () => {},
      warn: (message) => log.warn({}, message),
      error: (message) => log.error({}, message),
    },
  })
  for (const { name } of applied) log.info({ migration: name }, 'migrated')
  return applied.map(({ name }) => name)
}
