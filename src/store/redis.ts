import { Redis } from 'ioredis'
import type { StoreLog } from './postgres.ts'

export type { Redis }

export interface RedisConnectionOptions {
  /** Shown in `CLIENT LIST`. */
  readonly name: string
  /**
   * `fail`: a command is refused at once while there is no connection, and fails when the connection breaks.
   * `wait`: commands wait for the connection, without end; what BullMQ's workers ask for.
   */
  readonly whenAway: 'fail' | 'wait'
  /** A server that is silent for this long while a command waits is given up and connected to anew. */
  readonly silenceMs: number
  readonly log: StoreLog
}

const CONNECT_TIMEOUT_MS = 3_000
const RECONNECT_MAX_MS = 1_000
/** A server that is away fails some connection attempts a second: one line in ten seconds says it. */
const LOG_EVERY_MS = 10_000

/**
 * Opens one connection that mends itself. It never throws because the server is away.
 *
 * @param url `redis://[user:password@]host:port[/db]`, `rediss://` for TLS, or a Unix socket's path.
 */
export function openRedis(url: string, options: RedisConnectionOptions): Redis {
  const waits = options.whenAway === 'wait'
  const redis = new Redis(url, {
    connectionName: options.name,
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: options.silenceMs,
    enableOfflineQueue: waits,
    maxRetriesPerRequest: waits ? null : 0,
    autoResendUnfulfilledCommands: waits,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), RECONNECT_MAX_MS),
  })
  let loggedAtMs = Number.NEGATIVE_INFINITY
  redis.on('error', (error: Error) => {
    if (performance.now() - loggedAtMs < LOG_EVERY_MS) return
    loggedAtMs = performance.now()
    options.log.warn({ err: error, connection: options.name }, 'Redis is not reachable')
  })
  redis.on('ready', () => {
    loggedAtMs = Number.NEGATIVE_INFINITY
  })
  return redis
}
