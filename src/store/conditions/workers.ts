import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok } from '../../domain/conditions/finding.ts'
import { workersName } from '../../domain/redis/redis-names.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { isOutOfMemory } from '../connection/redis.ts'
import { countAnnounced, countWorkers } from '../ledger/shard-leases.ts'
import { selectProcesses } from '../processes/processes-table.ts'
import type { Condition, StorePorts } from './condition.ts'

const REPAIR =
  'start one: npm run worker, or the service worker of the compose file; what waits is counted then'

/**
 * Checks that a worker runs, with or without calls to count. Workers announce themselves twice a second in Redis; where
 * that has no memory left for it, what they say in Postgres counts.
 */
async function checkWorkers(ports: StorePorts): Promise<Finding> {
  const redis = await ports.redis()
  const key = workersName(ports.redisPrefix)
  const isFull = await countAnnounced(redis, key).then(() => false, isOutOfMemory)
  const workers = isFull
    ? (await selectProcesses(ports.pool)).filter(({ kind }) => kind === 'worker').length
    : await countWorkers(redis, key)
  if (workers > 0) return ok('workers', `${workers} announced`)
  return failure('workers', '0 announced: no call is counted', REPAIR)
}

/** For the alert `backlog`, which gateways raise in the place of workers. */
export function noWorkerRuns(day: UtcDay): Occurrence {
  return dailyOccurrence('workers', day, {
    message: withRepair('No worker runs: calls are recorded, and none is counted', REPAIR),
    workers: 0,
  })
}

export const WORKERS: Condition = {
  name: 'workers',
  place: 'redis',
  severity: 'wrong',
  find: checkWorkers,
}
