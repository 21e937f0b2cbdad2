import { databaseName } from '../../../domain/redis/redis-names.ts'
import { parseEntry } from '../../../ledger/entry.ts'
import type { Redis } from '../../../store/connection/redis.ts'
import { type Finding, failure, warning } from '../../finding.ts'

/** Looked at of each stream, from its beginning: entries of another database stay there, so they come to lie in front. */
const ENTRIES_EACH = 100

export interface PrefixCheck {
  readonly redisPrefix: string
  readonly streams: readonly string[]
  /** The identity of the database that DATABASE_URL names; `null`: not known. */
  readonly databaseId: string | null
}

/** Checks that the keys under REDIS_PREFIX are of this database; empty: they are. */
export async function checkPrefix(
  redis: Redis,
  { redisPrefix, streams, databaseId }: PrefixCheck,
): Promise<readonly Finding[]> {
  if (databaseId === null) return []
  const owner = await redis.get(databaseName(redisPrefix))
  if (owner !== null && owner !== databaseId)
    return [
      failure(
        'redis prefix',
        `the Redis keys ${redisPrefix}* belong to the database ${owner}, and DATABASE_URL is ${databaseId}: nothing is counted`,
        'give one of the two deployments another REDIS_PREFIX; if the other is gone for good, delete these keys',
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
