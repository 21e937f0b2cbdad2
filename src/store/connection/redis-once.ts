import type { Logger } from '../../lib/logger.ts'
import { openRedis, type Redis } from './redis.ts'

/**
 * Connects, does `work`, disconnects. For the command line, which wants an answer soon or not at all.
 *
 * @throws When Redis cannot be reached, or is silent for `silenceMs`.
 */
export async function withRedis<Result>(
  url: string,
  silenceMs: number,
  log: Logger,
  work: (redis: Redis) => Promise<Result>,
): Promise<Result> {
  const redis = openRedis(url, { name: 'tallygate once', whenAway: 'fail', silenceMs, log })
  const deadline = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => deadline.reject(new Error(`Redis did not answer within ${silenceMs} ms`)),
    silenceMs,
  )
  try {
    const ready = new Promise<void>((resolve, reject) => {
      redis.once('ready', resolve)
      redis.once('error', reject)
    })
    await Promise.race([ready, deadline.promise])
    return await Promise.race([work(redis), deadline.promise])
  } finally {
    clearTimeout(timer)
    redis.disconnect()
  }
}
