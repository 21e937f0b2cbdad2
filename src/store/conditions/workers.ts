import { setTimeout as delay } from 'node:timers/promises'
import { dailyOccurrence, type Occurrence, withRepair } from '../../domain/conditions/condition.ts'
import { type Finding, failure, ok } from '../../domain/conditions/finding.ts'
import { workersName } from '../../domain/redis/redis-names.ts'
import type { UtcDay } from '../../domain/utc-day.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import { isOutOfMemory } from '../connection/redis.ts'
import { countAnnounced, countWorkers } from '../ledger/shard-leases.ts'
import { selectProcesses } from '../processes/processes-table.ts'
import type { Condition, StorePorts } from './condition.ts'

const REPAIR =
  'start one: npm run worker, or the service worker of the compose file; what waits is counted then'

/** Longer than a worker that starts takes to say it in Postgres, too. */
const START_MS = 2_500
/** A Postgres that answers takes less. */
const SAID_MS = 1_000

/**
 * Checks that a worker runs, with or without calls to count. Workers announce themselves twice a second in Redis; where
 * that has no memory left for it, what they say in Postgres counts. One that says it in Redis alone is of a release
 * before, or does not reach Postgres.
 */
async function checkWorkers(ports: StorePorts): Promise<Finding> {
  const redis = await ports.redis()
  const key = workersName(ports.redisPrefix)
  const isFull = await countAnnounced(redis, key).then(() => false, isOutOfMemory)
  const selectSaid = async () =>
    (await selectProcesses(ports.pool)).filter(({ kind }) => kind === 'worker').length
  const count = () => (isFull ? selectSaid() : countWorkers(redis, key))
  const workers = await count()
  if (workers === 0) return failure('workers', '0 announced: no call is counted', REPAIR)
  // Without Postgres another line says so, and what waits for it holds up those that follow.
  const unsaid = workers - (await withinDeadline(selectSaid(), SAID_MS).catch(() => workers))
  if (unsaid <= 0) return ok('workers', `${workers} announced`)
  await delay(START_MS)
  const [announced, said] = await Promise.all([count(), selectSaid()])
  if (announced <= said) return ok('workers', `${announced} announced`)
  return failure(
    'workers',
    `${announced} announced, and ${announced - said} of them say nothing of themselves: they are of a release before, or do not reach PostgreSQL`,
    'stop them, and start workers of this release',
  )
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
