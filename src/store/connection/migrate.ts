import { readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type pg from 'pg'
import type { Logger } from '../../lib/logger.ts'
import { lockMigrations } from './advisory-locks.ts'
import type { Postgres } from './postgres.ts'
import { SCHEMA } from './schema.ts'
import { clientClass, connectInTurn, ServerConnector } from './sessions/connector.ts'
import { beginTransaction } from './sessions/session-settings.ts'

/** The table of the runner: it records what was applied, in the same schema. */
const MIGRATIONS_TABLE = 'migrations'
/** A migration may rewrite large tables. */
const LONGEST_MS = 86_400_000

/**
 * Applies the migrations that the database lacks, in one transaction: all of them or none. Two runners at once are
 * safe: the second one waits, then finds nothing to do.
 *
 * @returns The names of the migrations applied now, in order.
 * @throws When the server is away, or a migration fails.
 */
export async function migrate(databaseUrl: string, log: Logger): Promise<string[]> {
  const connector = new ServerConnector({
    url: databaseUrl,
    applicationName: 'tallygate migrate',
    statementTimeoutMs: LONGEST_MS,
    workMemoryMb: null,
    readsOnly: false,
    log,
  })
  const Client = clientClass(connector)
  const client = await connectInTurn(connector, async () => {
    const made = new Client()
    try {
      await made.connect()
      await connector.check(made)
      return made
    } catch (error) {
      await made.end().catch(() => {})
      throw error
    }
  })
  try {
    await beginTransaction(client, 'isolation level read committed')
    await client.query('set local lock_timeout = 0')
    await client.query('set local idle_in_transaction_session_timeout = 0')
    await lockMigrations(client)
    const applied = await applyPending(client, log)
    await client.query('commit')
    return applied
  } finally {
    await client.end()
  }
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

async function applyPending(client: pg.Client, log: Logger): Promise<string[]> {
  const { runner } = await import('node-pg-migrate') // what nothing else of the command line needs
  const applied = await runner({
    dbClient: withinTransaction(client),
    dir: fileURLToPath(new URL('../migrations', import.meta.url)),
    direction: 'up',
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
  const files = await readdir(new URL('../migrations', import.meta.url))
  const names = files.filter((file) => file.endsWith('.sql')).map((file) => file.replace(/\.sql$/, ''))
  const known = await pool.query<{ present: boolean }>(
    `select to_regclass('${SCHEMA}.migrations') is not null as present`,
  )
  if (known.rows[0]?.present !== true) return names.sort()
  const { rows } = await pool.query<{ name: string }>(`select name from ${SCHEMA}.migrations`)
  const applied = new Set(rows.map(({ name }) => name))
  return names.filter((name) => !applied.has(name)).sort()
}
