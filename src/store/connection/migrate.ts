import { fileURLToPath } from 'node:url'
import pg from 'pg'
import type { Logger } from '../../lib/logger.ts'
import { ADVISORY_LOCKS } from './advisory-locks.ts'
import { SCHEMA } from './schema.ts'

/** Where the runner records what was applied, in the same schema. */
const MIGRATIONS_TABLE = 'migrations'

/**
 * Applies the migrations that the database lacks, in one transaction: all of them or none. Two runners at once are
 * safe: the second one waits, then finds nothing to do.
 *
 * @returns The names of the migrations applied now, in order.
 * @throws When the server is away, or a migration fails.
 */
export async function migrate(databaseUrl: string, log: Logger): Promise<string[]> {
  // A connection of our own: the runner neither handles the errors of one that it opens nor waits for its end.
  const client = new pg.Client({ connectionString: databaseUrl, application_name: 'tallygate migrate' })
  // When the server ends the session, the query under way rejects. Without a listener the event would end the process.
  client.on('error', () => {})
  await client.connect()
  try {
    return await applyPending(client, log)
  } finally {
    await client.end()
  }
}

async function applyPending(client: pg.Client, log: Logger): Promise<string[]> {
  const { runner } = await import('node-pg-migrate') // what nothing else of the command line needs
  const applied = await runner({
    dbClient: client,
    dir: fileURLToPath(new URL('../migrations', import.meta.url)),
    direction: 'up',
    migrationsTable: MIGRATIONS_TABLE,
    schema: SCHEMA,
    createSchema: true,
    singleTransaction: true,
    // A development database may have a later migration already, but lack an earlier one.
    checkOrder: false,
    advisoryLockMode: 'wait',
    lockValue: ADVISORY_LOCKS.migrations,
    logger: {
      debug: () => {},
      info: () => {},
      warn: (message) => log.warn({ event: 'schema.message' }, message),
      error: (message) => log.error({ event: 'schema.message' }, message),
    },
  })
  for (const { name } of applied)
    log.info({ event: 'schema.migrated', migration: name }, 'a migration was applied')
  return applied.map(({ name }) => name)
}
