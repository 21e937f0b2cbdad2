import { type Finding, failure, warning } from '../../domain/conditions/finding.ts'
import { databaseName } from '../../domain/redis/redis-names.ts'
import type { Condition, StorePorts } from '../../store/conditions/condition.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { readDatabaseId, selectStreams } from '../../store/ledger/ledger-database.ts'
import { parseEntry } from '../entry.ts'

/** Looked at of each stream, from its beginning: entries of another database stay there, so they come to lie in front. */
const ENTRIES_EACH = 100

/** Checks that the keys under REDIS_PREFIX are of this database; empty: they are. */
async function checkPrefix(ports: StorePorts): Promise<readonly Finding[]> {
  const { pool, redisPrefix } = ports
  const databaseId = await readDatabaseId(pool).catch(() => null)
  if (databaseId === null) return []
  const redis = await ports.redis()
  const streams = await selectStreams(pool)
  const owner = await redis.get(databaseName(redisPrefix))
  if (owner !== null && owner !== databaseId)
    return [
      failure(
        'redis prefix',
        `the Redis keys ${redisPrefix}* belong to the database ${owner}, and DATABASE_URL is ${databaseId}: nothing is counted`,
        `give one of the two deployments another REDIS_PREFIX; if the other is gone for good: tallygate ledger claim ${owner}`,
      ),
    ]
  const foreign = await Promise.all(streams.map((stream) => countForeign(redis, stream, databaseId)))
  const entries = foreign.reduce((sum, count) => sum + count, 0)
  if (entries === 0) return []
  return [
    warning(
      'redis prefix',
      `${entries} of the oldest records on ${streams.filter((_, at) => foreign[at] !== 0).join(', ')} are of another database`,
      'a gateway of another deployment has this REDIS_PREFIX: give it another; its records are left for its workers',
    ),
  ]
}

async function countForeign(redis: Redis, stream: string, databaseId: string): Promise<number> {
  const entries = await redis.xrange(stream, '-', '+', 'COUNT', ENTRIES_EACH)
  return entries.filter(([, fields]) => {
    const entry = parseEntry(fields)
    return entry.kind === 'entry' && entry.database !== null && entry.database !== databaseId
  }).length
}

export const REDIS_PREFIX: Condition = {
  name: 'redis prefix',
  place: 'redis',
  severity: 'wrong',
  find: checkPrefix,
  event: 'redis.prefix_of_another',
}
