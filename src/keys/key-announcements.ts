import { keyChannel } from '../domain/redis/redis-names.ts'
import type { Logger } from '../lib/logger.ts'
import { openRedis, withRedis } from '../store/connection/redis.ts'

/**
 * A Redis that does not answer is given up after this. Announcing only speeds things up, so callers must not
 * wait for it.
 */
const SILENCE_MS = 1_000

/**
 * Announces to the gateways that clients, keys or limits changed, so that they read them at once. They poll
 * within half a second anyway; a failed announcement is not an error.
 * @returns Whether it was announced.
 */
export async function announceKeyChange(
  redisUrl: string,
  redisPrefix: string,
  log: Logger,
): Promise<boolean> {
  try {
    await withRedis(redisUrl, SILENCE_MS, log, (redis) => redis.publish(keyChannel(redisPrefix), 'changed'))
    return true
  } catch {
    return false
  }
}

/**
 * Calls `onChange` after an announcement, and whenever announcements may have been missed.
 *
 * @param name Of the connection.
 * @param channels That it listens on beside.
 */
export function listenForKeyChanges(
  redisUrl: string,
  redisPrefix: string,
  log: Logger,
  onChange: () => void,
  name = 'tallygate keys',
  channels: readonly string[] = [],
): { close(): void } {
  const redis = openRedis(redisUrl, { name, whenAway: 'fail', silenceMs: SILENCE_MS, log })
  redis.on('message', onChange)
  redis.on('ready', () => {
    redis.subscribe(keyChannel(redisPrefix), ...channels).then(onChange, () => {
      // The connection broke again: the next `ready` subscribes.
    })
  })
  return { close: () => redis.disconnect() }
}
