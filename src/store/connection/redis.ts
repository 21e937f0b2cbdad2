import { Redis } from 'ioredis'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import { atMostEvery } from '../../lib/throttle.ts'

export type { Redis }

export interface RedisConnectionOptions {
  /** Shown in `CLIENT LIST`. */
  readonly name: string
  /**
   * `fail`: a command is refused at once while there is no connection, and fails when the connection breaks.
   * `wait`: commands wait for the connection without end, as BullMQ's workers need.
   */
  readonly whenAway: 'fail' | 'wait'
  /** A connection on which the server is silent for this long while a command waits is replaced. */
  readonly silenceMs: number
  readonly log: Logger
}

const CONNECT_TIMEOUT_MS = 3_000
const RECONNECT_MAX_MS = 1_000
/** An unreachable server fails some connection attempts a second: one log line in ten seconds says it. */
const LOG_EVERY_MS = 10_000

/**
 * Opens one connection that reconnects by itself. It never throws because the server is unreachable.
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
    // The library does not handle failures of its own SUBSCRIBE: a connection that breaks before the answer would be an
    // unhandled rejection, which ends the process. Subscribers subscribe at every `ready` themselves.
    autoResubscribe: false,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), RECONNECT_MAX_MS),
  })
  const gate = atMostEvery(LOG_EVERY_MS)
  redis.on('error', (error: Error) => {
    if (gate.passes())
      options.log.warn(
        { event: 'redis.unreachable', err: error, connection: options.name },
        'a connection to Redis cannot be made',
      )
  })
  redis.on('ready', () => gate.reopen())
  return redis
}

/**
 * Waits for the connection. A `fail` connection needs that once, before its first command.
 *
 * @throws When it is not there within `timeoutMs`.
 */
export async function untilReady(redis: Redis, timeoutMs: number): Promise<void> {
  if (redis.status === 'ready') return
  const { promise: ready, resolve } = Promise.withResolvers<void>()
  redis.once('ready', resolve)
  try {
    await withinDeadline(ready, timeoutMs, 'Redis is not reachable')
  } finally {
    redis.off('ready', resolve)
  }
}

/**
 * Connects, does `work`, disconnects. For the command line, which needs an answer soon or not at all.
 *
 * @throws When Redis cannot be reached, or does not answer within `limitMs`.
 */
export async function withRedis<Result>(
  url: string,
  limitMs: number,
  log: Logger,
  work: (redis: Redis) => Promise<Result>,
): Promise<Result> {
  const redis = openRedis(url, { name: 'tallygate once', whenAway: 'fail', silenceMs: limitMs, log })
  const ready = new Promise<void>((resolve, reject) => {
    redis.once('ready', resolve)
    redis.once('error', reject)
  })
  try {
    const result = ready.then(() => work(redis))
    return await withinDeadline(result, limitMs, `Redis did not answer within ${limitMs} ms`)
  } finally {
    redis.disconnect()
  }
}
