import pg from 'pg'
import type { Logger } from '../../../lib/logger.ts'
import {
  isOutOfConnections,
  OUT_OF_CONNECTIONS,
  type Postgres,
  type PostgresSession,
  queryOver,
  takeSession,
} from '../postgres.ts'
import { clientClass, ServerConnector } from '../sessions/connector.ts'
import { type SessionLimits, useLimits } from '../sessions/session-settings.ts'
import {
  ConnectionBudget,
  LANES,
  type LaneName,
  LEAST_CONNECTIONS,
  MOST_CONNECTIONS,
} from './connection-budget.ts'

export interface LanesOptions {
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string
  /** How long a statement of each lane may run, and what it may hold in memory. */
  readonly limits: Readonly<Record<LaneName, SessionLimits>>
  readonly log: Logger
}

/** One pool of connections for all that a process asks of Postgres. */
export interface Lanes extends Readonly<Record<LaneName, Postgres>> {
  /**
   * Connections at most: what the process may take now, of `LEAST_CONNECTIONS` to `MOST_CONNECTIONS`, or has open still.
   */
  readonly max: number
  /** Says that it may take so many. */
  allow(connections: number): void
  /** Advice about a Postgres that has just refused a further connection; `null`: it has not. */
  readonly shortage: string | null
  end(): Promise<void>
}

/** Connections that are kept where nothing is asked: with none to be had, polls and one query go on over these. */
const KEPT = 2
const IDLE_MS = 30_000
/** A Postgres that had no connection left is asked for one more after this time. */
const SHORT_MS = 20_000

/**
 * Opens the pool. It never throws because the server is away. While Postgres has no further connection, queries share
 * those that the process has.
 *
 * @throws When the URL itself cannot work.
 */
export function openLanes(url: string, { applicationName, limits, log }: LanesOptions): Lanes {
  const connector = new ServerConnector({ url, ...limits.polls, applicationName, readsOnly: false, log })
  const pool = new pg.Pool({
    max: MOST_CONNECTIONS,
    min: KEPT,
    connectionTimeoutMillis: connector.connectTimeoutMs,
    idleTimeoutMillis: IDLE_MS,
    Client: clientClass(connector),
    onConnect: (client) => connector.check(client),
  })
  pool.on('error', (error) =>
    log.warn({ event: 'postgres.connection_broken', err: error }, 'a connection to Postgres broke'),
  )
  let allowed = LEAST_CONNECTIONS
  /** Monotonic; 0: none was refused since the last one that was made. */
  let shortUntilMs = 0
  let shortTimer: NodeJS.Timeout | undefined
  const budget = new ConnectionBudget(allowed)

  function connectionRefused(): void {
    if (shortUntilMs === 0)
      log.warn({ event: 'postgres.out_of_connections', open: pool.totalCount }, OUT_OF_CONNECTIONS)
    shortUntilMs = performance.now() + SHORT_MS
    budget.total = Math.max(1, Math.min(allowed, pool.totalCount))
    clearTimeout(shortTimer)
    shortTimer = setTimeout(() => {
      budget.total = allowed
    }, SHORT_MS).unref()
  }

  function connectionMade(): void {
    if (shortUntilMs === 0 || performance.now() < shortUntilMs) return
    shortUntilMs = 0
    log.info({ event: 'postgres.connections_back' }, 'Postgres gives connections again')
  }
  pool.on('connect', connectionMade)

  async function connect(lane: number, limits: SessionLimits): Promise<PostgresSession> {
    const untilMs = performance.now() + connector.connectTimeoutMs
    for (;;) {
      await budget.take(lane, Math.max(0, untilMs - performance.now()))
      try {
        const session = await takeSession(pool, connector)
        useLimits(session, limits)
        return given(session, lane)
      } catch (error) {
        const isShort = isOutOfConnections(error)
        if (isShort) connectionRefused()
        budget.give(lane)
        // Those that the process has come back soon: this query takes its turn.
        if (!isShort || pool.totalCount === 0 || performance.now() >= untilMs) throw error
      }
    }
  }

  function given(session: PostgresSession, lane: number): PostgresSession {
    const release = session.release
    session.release = (broken) => {
      release(broken ?? pool.totalCount > budget.total)
      budget.give(lane)
    }
    return session
  }

  let isClosing = false
  /**
   * Closes idle ones beyond its part, which the pool would keep for half a minute. One after the other, and none that a query
   * is about to get: the pool would open one more.
   */
  function closeIdle(): void {
    if (isClosing || pool.idleCount <= pool.waitingCount || pool.totalCount <= budget.total) return
    isClosing = true
    pool.connect((error, _client, release) => {
      isClosing = false
      if (error !== undefined) return // the pool has ended
      release(true)
      closeIdle()
    })
  }

  const laneOf = (name: LaneName, index: number): readonly [LaneName, Postgres] => {
    const take = () => connect(index, limits[name])
    // A lane has nothing to end: the pool has.
    return [
      name,
      { connect: take, query: queryOver(take), on: pool.on.bind(pool), end: async () => {} } as Postgres,
    ]
  }
  return {
    ...(Object.fromEntries(LANES.map(laneOf)) as Record<LaneName, Postgres>),
    get max() {
      // What it has open beyond its part counts until it is closed: others must not take it.
      return Math.max(allowed, pool.totalCount)
    },
    allow(connections) {
      allowed = Math.min(MOST_CONNECTIONS, Math.max(LEAST_CONNECTIONS, connections))
      if (performance.now() >= shortUntilMs) budget.total = allowed
      closeIdle()
    },
    get shortage() {
      return performance.now() < shortUntilMs ? OUT_OF_CONNECTIONS : null
    },
    async end() {
      clearTimeout(shortTimer)
      await pool.end()
    },
  }
}
