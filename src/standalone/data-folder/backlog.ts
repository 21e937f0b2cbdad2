import { until } from '../../lib/until.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { selectStreams } from '../../store/ledger/ledger-database.ts'

/**
 * Waits until the workers have counted everything that is in the streams, for at most `timeoutMs`. What is left then is
 * counted after the next start.
 *
 * @returns how many entries are left; null where that could not be learnt
 */
export async function waitForBacklog(
  pool: Postgres,
  redis: Redis,
  timeoutMs: number,
  isForced: () => boolean,
): Promise<number | null> {
  let left: number | null = null
  const count = async () => {
    const streams = await selectStreams(pool)
    const lengths = await Promise.all(streams.map((stream) => redis.xlen(stream)))
    return lengths.reduce((sum, length) => sum + length, 0)
  }
  await until(
    async () => {
      left = await count().catch(() => null)
      return left === 0 || isForced() ? true : null
    },
    { timeoutMs, everyMs: 50 },
  )
  return left
}
