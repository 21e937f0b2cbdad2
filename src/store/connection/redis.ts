import { Redis } from 'ioredis'
import type { Logger } from '../../lib/logger.ts'
import { atMostEvery } from '../../lib/throttle.ts'

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
  readonly log: Logger
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
    // The library would not look after its own SUBSCRIBE: a connection that breaks before the answer is a rejection
    // that nobody handles, and ends the process. Who subscribes does so at every `ready`.
    autoResubscribe: false,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), RECONNECT_MAX_MS),
  })
  const gate = atMostEvery(LOG_EVERY_MS)
  redis.on('error', (error: Error) => {
    if (gate.passes()) options.log.warn({ err: error, connection: options.name }, 'Redis is not reachable')
  })
  redis.on('ready', () => gate.reopen())
  return redis
}

/**
 * Waits for the connection, which a `fail` connection needs once, before its first command.
 *
 * @throws When it is not there within `timeoutMs`.
 */
export async function untilReady(redis: Redis, timeoutMs: number): Promise<void> {
  if (redis.status === 'ready') return
  let timer: NodeJS.Timeout | undefined
  let onReady = () => {}
  try {
    await new Promise<void>((resolve, reject) => {
      onReady = resolve
      redis.once('ready', resolve)
      timer = setTimeout(() => reject(new Error('Redis is not reachable')), timeoutMs)
    })
  } finally {
    clearTimeout(timer)
    redis.off('ready', onReady)
  }
}
