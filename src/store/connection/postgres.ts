import pg from 'pg'
import type { Logger } from '../../lib/logger.ts'

/** A pool of connections to Postgres. `int8` and `numeric` arrive as strings, `date` as YYYY-MM-DD. */
export type Postgres = pg.Pool
/** One connection of the pool, for a transaction. */
export type PostgresSession = pg.PoolClient

export interface PostgresPoolOptions {
  /** Connections at most. */
  readonly max: number
  /** Longest a statement may run, by the server's clock. */
  readonly statementTimeoutMs: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 3_000
/** How long the server may be silent beyond the statement's own limit before the client closes the connection. */
const SILENCE_MS = 5_000

/**
 * These settings free the locks of a process that froze or vanished. The session ends when its transaction idles, no
 * lock is awaited without limit, and the server notices a peer that no longer acknowledges bytes. `synchronous_commit`:
 * a commit that was answered is on disk.
 */
const SESSION_SETTINGS = [
  ['idle_in_transaction_session_timeout', '10000'],
  ['lock_timeout', '5000'],
  ['tcp_user_timeout', '10000'],
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '3'],
  ['synchronous_commit', 'on'],
  ['timezone', 'UTC'],
] as const

const DATE_OID = 1082

/**
 * Opens a pool. It never throws because the server is away: queries reject then, and succeed again when it is back.
 * Connections that break while idle are logged and replaced.
 *
 * @param url `postgres://user:password@host:port/database`, `?host=` with a folder for a Unix socket.
 */
export function openPostgres(url: string, options: PostgresPoolOptions): Postgres {
  const settings = [...SESSION_SETTINGS, ['statement_timeout', `${options.statementTimeoutMs}`] as const]
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    application_name: options.applicationName,
    options: settings.map(([name, value]) => `-c ${name}=${value}`).join(' '),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: options.statementTimeoutMs + SILENCE_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
    types: { getTypeParser },
  })
  pool.on('error', (error) =>
    options.log.warn({ event: 'postgres.connection_broken', err: error }, 'a connection to Postgres broke'),
  )
  // The pool does not listen to the errors of a session in use; its next query rejects, which is enough. Without a
  // listener the event would end the process.
  pool.on('connect', (session) => session.on('error', () => {}))
  return pool
}

/** The driver's parsers, but a date stays text: as a `Date` it would shift with the process's time zone. */
const getTypeParser: typeof pg.types.getTypeParser = (oid: number, format?: 'text' | 'binary') =>
  oid === DATE_OID ? (text: string) => text : pg.types.getTypeParser(oid, format)

/**
 * Runs `work` in one transaction. It commits when `work` resolves and rolls back when it rejects. A connection whose
 * state is uncertain afterwards is closed, not reused.
 */
export async function inTransaction<T>(
  pool: Postgres,
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  const session = await pool.connect()
  let broken: Error | undefined
  try {
    await session.query('begin isolation level read committed')
    const result = await work(session)
    const { command } = await session.query('commit')
    // An aborted transaction answers `commit` with ROLLBACK, without an error.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back instead of committed')
    return result
  } catch (error) {
    if (sqlErrorOf(error) === null) {
      broken = error instanceof Error ? error : new Error(String(error))
    } else {
      await session.query('rollback').catch((failure: Error) => {
        broken = failure
      })
    }
    throw error
  } finally {
    session.release(broken)
  }
}

/** The error as the server answered it; `null` for every other error, such as a broken connection. */
export function sqlErrorOf(error: unknown): pg.DatabaseError | null {
  return error instanceof pg.DatabaseError && typeof error.code === 'string' ? error : null
}

/** The five-character SQLSTATE of an error that the server answered; `null` for every other error. */
export function sqlStateOf(error: unknown): string | null {
  return sqlErrorOf(error)?.code ?? null
}
