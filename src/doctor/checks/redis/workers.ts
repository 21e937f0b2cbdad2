import { workersName } from '../../../domain/redis/redis-names.ts'
import type { Redis } from '../../../store/connection/redis.ts'
import { countWorkers } from '../../../store/ledger/shard-leases.ts'
import { type Finding, failure, ok } from '../../finding.ts'

/**
 * Checks that a worker runs, with or without calls to count. Workers announce themselves twice a second.
 *
 * @param inPostgres How many have said in Postgres that they run, where Redis has no memory left for announcements;
 *   `null`: it has.
 */
export async function checkWorkers(
  redis: Redis,
  redisPrefix: string,
  inPostgres: number | null,
): Promise<Finding> {
  const workers = inPostgres ?? (await countWorkers(redis, workersName(redisPrefix)))
  if (workers > 0) return ok('workers', `${workers} announced`)
  return failure(
    'workers',
    '0 announced: no call is counted',
    'start one: npm run worker, or the service worker of the compose file; what waits is counted then',
  )
}
