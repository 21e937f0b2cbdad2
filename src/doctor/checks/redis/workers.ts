import { workersName } from '../../../domain/redis/redis-names.ts'
import type { Redis } from '../../../store/connection/redis.ts'
import { countWorkers } from '../../../store/ledger/shard-leases.ts'
import { type Finding, failure, ok, warning } from '../../finding.ts'

/**
 * Checks that a worker runs, with or without calls to count. Workers announce themselves twice a second.
 *
 * @param isFull Whether Redis has no memory left, also not for announcements.
 */
export async function checkWorkers(redis: Redis, redisPrefix: string, isFull: boolean): Promise<Finding> {
  const workers = await countWorkers(redis, workersName(redisPrefix))
  if (workers > 0) return ok('workers', `${workers} announced`)
  if (isFull)
    return warning(
      'workers',
      'not known: Redis is full, and has no room for their announcements',
      'see that one runs (npm run worker): it deletes the records that it has counted',
    )
  return failure(
    'workers',
    '0 announced: no call is counted',
    'start one: npm run worker, or the service worker of the compose file; what waits is counted then',
  )
}
