import { withinDeadline } from '../../lib/deadline.ts'
import { type Logger, SILENT_LOG } from '../../lib/logger.ts'
import { atMostEvery } from '../../lib/repeat.ts'
import { buildRedis } from './redis-client.ts'
import type { Redis } from './redis-info.ts'

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
/** An unreachable server fails some connection attempts a second: one log line in ten seconds says it. */
const LOG_EVERY_MS = 10_000

/**
 * Opens one connection that reconnects by itself. It never throws because the server is unreachable.
 *
 * @param url REDIS_URL, in any of its forms.
 */
export function openRedis(url: string, options: RedisConnectionOptions): Redis {
  const { name, whenAway, silenceMs, log } = options
  const redis = buildRedis(url, { name, whenAway, silenceMs, connectMs: CONNECT_TIMEOUT_MS })
  const gate = atMostEvery(LOG_EVERY_MS)
  let readyAtMs = Number.POSITIVE_INFINITY
  onConnectionError(redis, (error) => {
    if (gate.passes())
      log.warn(
        { event: 'redis.unreachable', err: error, connection: name },
        'a connection to Redis cannot be made',
      )
  })
  redis.on('ready', () => {
    readyAtMs = performance.now()
  })
  // One that stood for long worked. One that breaks at once, again and again, would fill the log otherwise.
  redis.on('close', () => {
    if (performance.now() - readyAtMs > LOG_EVERY_MS) gate.reopen()
    readyAtMs = Number.POSITIVE_INFINITY
  })
  return redis
}

/** Calls `report` with why a connection failed: what a Sentinel, or a node of a cluster, said last. */
export function onConnectionError(redis: Redis, report: (error: Error) => void): void {
  let ofSentinel: Error | null = null
  redis.on('sentinelError', (error: Error) => {
    ofSentinel = error
  })
  redis.on('error', (error: Error & { readonly lastNodeError?: unknown }) => {
    if (ofSentinel !== null && error.message.startsWith('All sentinels')) report(ofSentinel)
    else report(error.lastNodeError instanceof Error ? error.lastNodeError : error)
  })
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
  const { redis, ready } = openAtOnce(url, limitMs, log)
  try {
    return await withinDeadline(ready.then(work), limitMs, silenceOf(limitMs))
  } finally {
    redis.disconnect()
  }
}

/** A connection for one who asks a few things, made at the first of them; `get` rejects like `withRedis`. */
export function lazyRedis(
  url: string | null,
  limitMs: number,
): { readonly get: () => Promise<Redis>; close(): void } {
  let opened: { readonly redis: Redis; readonly ready: Promise<Redis> } | null = null
  return {
    async get() {
      if (url === null) throw new Error('REDIS_URL is not set')
      opened ??= openAtOnce(url, limitMs, SILENT_LOG)
      return await opened.ready
    },
    close: () => opened?.redis.disconnect(),
  }
}

/** Whose commands fail while Redis is away. `ready` rejects when it does not answer within `limitMs`. */
function openAtOnce(
  url: string,
  limitMs: number,
  log: Logger,
): { readonly redis: Redis; readonly ready: Promise<Redis> } {
  const redis = openRedis(url, { name: 'tallygate once', whenAway: 'fail', silenceMs: limitMs, log })
  const ready = new Promise<Redis>((resolve, reject) => {
    redis.once('ready', () => resolve(redis))
    onConnectionError(redis, reject)
  })
  const inTime = withinDeadline(ready, limitMs, silenceOf(limitMs))
  inTime.catch(() => {})
  return { redis, ready: inTime }
}

function silenceOf(limitMs: number): string {
  return `Redis did not answer within ${limitMs} ms`
}

/**
 * Tells whether Redis refused to write because its memory is full. What frees memory it still does: reading, deleting,
 * and changing how long a key lasts. Scripts of before Redis 7 say it in the middle of a sentence.
 */
export function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && /\bOOM\b/.test(error.message)
}
