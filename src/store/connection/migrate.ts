import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import type { Logger } from '../../lib/logger.ts'
import { lockMigrations } from './advisory-locks.ts'
import { beginLongTransaction, withSession } from './long-session.ts'
import type { Postgres } from './postgres.ts'
import { SCHEMA } from './schema.ts'

/** The table of the runner: it records what was applied, in the same schema. */
const MIGRATIONS_TABLE = 'migrations'

/**
 * Applies the migrations that the database lacks, in one transaction: all of them or none. Two runners at once are
 * safe: the second one waits, then finds nothing to do.
 *
 * @returns The names of the migrations applied now, in order.
 * @throws When the server is away, or a migration fails.
 */
export async function migrate(databaseUrl: string, log: Logger): Promise<string[]> {
  return await withSession(databaseUrl, { applicationName: 'tallygate migrate', log }, async (client) => {
    await beginLongTransaction(client, 'isolation level read committed')
    await lockMigrations(client)
    const applied = await applyPending(client, log)
    await client.query('commit')
    return applied
  })
}

/**
 * The runner's connection, in our transaction. A `search_path` that it sets for the session would reach other clients
 * of a pooler.
 */
function withinTransaction(client: pg.Client): pg.Client {
  return new Proxy(client, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      if (name !== 'query') return member.bind(target)
      return async (statement: unknown, ...rest: unknown[]) => {
        if (typeof statement !== 'string') return await Reflect.apply(member, target, [statement, ...rest])
        if (/^(BEGIN|COMMIT|ROLLBACK);?$/.test(statement)) return NOTHING
        const local = statement.replace(/^SET search_path/, 'SET LOCAL search_path')
        return await Reflect.apply(member, target, [local, ...rest])
      }
    },
  })
}

const NOTHING = { rows: [], rowCount: 0 }

/**
 * Applies what the schema lacks, in the transaction of the caller, who has taken `lockMigrations`.
 *
 * @param count So many of them, in order; without it: all.
 * @returns Their names, in order.
 */
export async function applyPending(client: pg.Client, log: Logger, count?: number): Promise<string[]> {
  const { runner } = await import('node-pg-migrate') // what nothing else of the command line needs
  const applied = await runner({
    dbClient: withinTransaction(client),
    dir: fileURLToPath(new URL('../migrations', import.meta.url)),
    direction: 'up',
    ...(count === undefined ? {} : { count }),
    migrationsTable: MIGRATIONS_TABLE,
    schema: SCHEMA,
    createSchema: true,
    singleTransaction: true,
    // A development database may have a later migration already, but lack an earlier one.
    checkOrder: false,
    noLock: true, // its lock belongs to a session, which a pooler would give to others
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

/**
 * The migrations of this release that the database lacks, in order.
 *
 * @throws When Postgres is away.
 */
export async function selectPendingMigrations(pool: Postgres): Promise<readonly string[]> {
  const names = await listMigrations()
  const known = await pool.query<{ present: boolean }>(
    `select to_regclass('${SCHEMA}.migrations') is not null as present`,
  )
  if (known.rows[0]?.present !== true) return names
  const { rows } = await pool.query<{ name: string }>(`select name from ${SCHEMA}.migrations`)
  const applied = new Set(rows.map(({ name }) => name))
  return names.filter((name) => !applied.has(name))
}

/** The names of this release's migrations, in order. */
export async function listMigrations(): Promise<readonly string[]> {
  const files = await readdir(new URL('../migrations', import.meta.url))
  return files
    .filter((file) => file.endsWith('.sql'))
    .map((file) => file.replace(/\.sql$/, ''))
    .sort()
}
