import type { QueryConfig, QueryResult, QueryResultRow } from 'pg'
import pg from 'pg'
import type { Logger } from '../../lib/logger.ts'
import { atMostEvery } from '../../lib/repeat.ts'
import { clientClass, connectInTurn, connectorOf, ServerConnector } from './sessions/connector.ts'
import { beginTransaction, isPooled } from './sessions/session-settings.ts'

/**
 * A pool of connections to Postgres. `int8` and `numeric` arrive as strings, `date` as YYYY-MM-DD. Statements that
 * cannot run in a transaction need a connection of their own: behind a pooler, `query` makes a transaction of each.
 */
export type Postgres = Pick<pg.Pool, 'connect' | 'query' | 'on' | 'end'>
/** One connection of the pool, for a transaction. */
export type PostgresSession = pg.PoolClient

export interface PostgresPoolOptions {
  /** Connections at most. */
  readonly max: number
  /** Longest a statement may run, by the server's clock. */
  readonly statementTimeoutMs: number
  /**
   * Memory that a sort or a grouping of these statements may hold, for each of the processes that it runs
   * in; absent: as the server has it.
   */
  readonly workMemoryMb?: number
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** A server that cannot be written to will do, where the URL does not say. By default it will not. */
  readonly readsOnly?: boolean
  readonly log: Logger
}

/** The server cannot be written to: a standby, or a primary that was taken out of service. */
const READ_ONLY = '25006'
/** Each attempt is refused, and there are some a second. */
const SHORTAGE_LOG_MS = 60_000

/**
 * Opens a pool. It never throws because the server is away: queries reject then, and succeed again when it is back.
 * Connections that break while idle are logged and replaced. Where the URL names several servers, connections go to the
 * one that will do, and to another after a failover.
 *
 * @param url As libpq has it, `postgres://user:password@host:port,host:port/database?target_session_attrs=read-write`.
 * @throws When the URL itself cannot work.
 */
export function openPostgres(url: string, options: PostgresPoolOptions): Postgres {
  const { max, log, statementTimeoutMs, workMemoryMb = null, applicationName, readsOnly = false } = options
  const limits = { statementTimeoutMs, workMemoryMb }
  const connector = new ServerConnector({ url, ...limits, applicationName, readsOnly, log })
  const pool = new pg.Pool({
    max,
    connectionTimeoutMillis: connector.connectTimeoutMs,
    idleTimeoutMillis: 60_000,
    Client: clientClass(connector),
    onConnect: (client) => connector.check(client),
  })
  pool.on('error', (error) =>
    log.warn({ event: 'postgres.connection_broken', err: error }, 'a connection to Postgres broke'),
  )
  return routed(pool, connector, log)
}

const TOO_MANY_CONNECTIONS = '53300'
/** All that is known of several servers is what each said. */
const SAID = /too many clients|remaining connection slots|too many connections for/

/** Advice for a log line, readiness, `doctor` and commands. */
export const OUT_OF_CONNECTIONS =
  'PostgreSQL has no connection left: raise max_connections, put a pooler before it, or end what holds them (docs/scaling.md has the number that a deployment needs)'

/** Tells whether Postgres refused a connection because all of the server's, the role's or the database's are in use. */
export function isOutOfConnections(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'code' in error ? error.code : null
  return code === TOO_MANY_CONNECTIONS || SAID.test(error.message) || isOutOfConnections(error.cause)
}

/** The driver's pool, but its connections lead to the right server, and the settings hold behind a pooler too. */
function routed(pool: pg.Pool, connector: ServerConnector, log: Logger): Postgres {
  const driver = { connect: pool.connect.bind(pool) }
  const gate = atMostEvery(SHORTAGE_LOG_MS)
  const connect = async (): Promise<PostgresSession> => {
    try {
      return await takeSession(driver, connector)
    } catch (error) {
      if (isOutOfConnections(error) && gate.passes())
        log.warn({ event: 'postgres.out_of_connections', open: pool.totalCount }, OUT_OF_CONNECTIONS)
      throw error
    }
  }
  return Object.assign(pool, { connect, query: queryOver(connect) })
}

/** A connection to the server that is the right one now. */
export async function takeSession(
  driver: { connect(): Promise<PostgresSession> },
  connector: ServerConnector,
): Promise<PostgresSession> {
  for (;;) {
    const session = await connectInTurn(connector, () => driver.connect())
    if (!connector.isOutdated(session)) return session
    session.release(true)
  }
}

/** One statement on a connection of its own. Behind a pooler it is a transaction, in which our settings hold. */
export function queryOver(connect: () => Promise<PostgresSession>) {
  return async function query<Row extends pg.QueryResultRow>(
    statement: string | pg.QueryConfig,
    values?: unknown[],
  ): Promise<pg.QueryResult<Row>> {
    const session = await connect()
    return await releasing(session, async () => {
      if (!isPooled(session)) return await session.query<Row>(statement, values)
      await beginTransaction(session, READ_COMMITTED)
      const result = await session.query<Row>(statement, values)
      await commit(session)
      return result
    })
  }
}

const READ_COMMITTED = 'isolation level read committed'

/**
 * Runs `work` in one transaction. It commits when `work` resolves and rolls back when it rejects. A connection whose
 * state is uncertain afterwards is closed, not reused.
 */
export async function inTransaction<T>(
  pool: Postgres,
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  return await inTransactionOr(pool, async (session) => ({ isKept: true, result: await work(session) }))
}

/** The same of work that may also resolve and keep nothing: the connection is as good as before. */
export async function inTransactionOr<T>(
  pool: Postgres,
  work: (session: PostgresSession) => Promise<{ readonly isKept: boolean; readonly result: T }>,
): Promise<T> {
  const session = await pool.connect()
  return await releasing(session, async () => {
    await beginTransaction(session, READ_COMMITTED)
    const { isKept, result } = await work(session)
    if (isKept) await commit(session)
    else await session.query('rollback')
    return result
  })
}

/** Runs `work`, which only reads, on one snapshot: its statements see what was committed before the first of them. */
export async function inSnapshot<T>(
  pool: Postgres,
  work: (session: PostgresSession) => Promise<T>,
): Promise<T> {
  return await inTransaction(pool, async (session) => {
    await session.query('set transaction isolation level repeatable read, read only')
    return await work(session)
  })
}

async function commit(session: PostgresSession): Promise<void> {
  const { command } = await session.query('commit')
  // An aborted transaction answers `commit` with ROLLBACK, without an error.
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back instead of committed')
}

/** Gives the connection back after `work`, and closes it where its state is uncertain. */
async function releasing<T>(session: PostgresSession, work: () => Promise<T>): Promise<T> {
  let broken: Error | undefined
  try {
    return await work()
  } catch (error) {
    const refusal = sqlErrorOf(error)
    if (refusal === null) broken = error instanceof Error ? error : new Error(String(error))
    else if (refusal.severity === 'FATAL' || isReadOnlyServer(session, refusal)) broken = refusal
    else if (session.getTransactionStatus() !== 'I')
      await session.query('rollback').catch((failure: Error) => {
        broken = failure
      })
    throw error
  } finally {
    session.release(broken)
  }
}

/** Tells whether the server cannot be written to: after a failover all connections to it are worthless. */
function isReadOnlyServer(session: PostgresSession, { code }: pg.DatabaseError): boolean {
  if (code !== READ_ONLY) return false
  connectorOf(session)?.refusedWrite(session)
  return true
}

/** Postgres answers this to the statements behind a failed one of the same transaction. */
const ABORTED = '25P02'

/**
 * Waits for all of these, which sent their statements to one session without waiting for each other.
 *
 * @throws The error that the others followed from.
 */
export async function untilAllDone<const Work extends readonly Promise<unknown>[]>(
  work: Work,
): Promise<{ readonly [Index in keyof Work]: Awaited<Work[Index]> }> {
  const failures = (await Promise.allSettled(work)).flatMap((done) =>
    done.status === 'rejected' ? [done.reason] : [],
  )
  if (failures.length > 0) throw failures.find((failure) => sqlStateOf(failure) !== ABORTED) ?? failures[0]
  return await Promise.all(work)
}

/** The error as the server answered it; `null` for every other error, such as a broken connection. */
export function sqlErrorOf(error: unknown): pg.DatabaseError | null {
  return error instanceof pg.DatabaseError && typeof error.code === 'string' ? error : null
}

/** The five-character SQLSTATE of an error that the server answered; `null` for every other error. */
export function sqlStateOf(error: unknown): string | null {
  return sqlErrorOf(error)?.code ?? null
}

const QUERY_CANCELED = '57014'

/**
 * Tells whether a statement took too long: the server ended it at its limit. The store was reached then, and a smaller
 * query may be answered. A server that is silent beyond that limit is another matter, which the driver calls `Query
 * read timeout`: it is frozen, cut off, or behind a pooler without a connection for us, and would not answer less
 * either.
 */
export function isQueryTimeout(error: unknown): boolean {
  return sqlStateOf(error) === QUERY_CANCELED
}

const CHARACTER_NOT_IN_REPERTOIRE = '22021'

/**
 * Tells whether a statement failed because one of its texts has a NUL character, which Postgres cannot store or
 * compare.
 */
export function isUnstorableText(error: unknown): boolean {
  return sqlStateOf(error) === CHARACTER_NOT_IN_REPERTOIRE
}

/** A day of a busy gateway has millions of calls; one query over them may take minutes. */
const LONG_MS = 600_000
/** The server ends the statement at its limit and says so. The client gives up on one that is silent beyond it. */
const SILENCE_MS = 5_000
/** The groups of a million calls fit into this: on disk they take twice as long. */
const WORK_MEMORY_MB = 64

/**
 * Runs a statement over many calls, inside a transaction. The server and the client allow it more time than others.
 */
export async function queryLong<Row extends QueryResultRow>(
  session: PostgresSession,
  text: string,
  values: unknown[],
): Promise<QueryResult<Row>> {
  await session.query(`set local statement_timeout = ${LONG_MS}; set local work_mem = '${WORK_MEMORY_MB}MB'`)
  const config: PatientQuery = { text, values, query_timeout: LONG_MS + SILENCE_MS }
  return await session.query<Row>(config)
}

/** The driver accepts a limit for each statement, which its types lack. */
interface PatientQuery extends QueryConfig {
  readonly query_timeout: number
}
