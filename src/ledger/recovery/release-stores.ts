import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { databaseName, limitsName, limitsSinceName, offsetsName } from '../../domain/redis/redis-names.ts'
import { isMissingFile } from '../../lib/missing-file.ts'
import { BackupError } from '../../store/backup/backup-error.ts'
import type { Redis } from '../../store/connection/redis.ts'
import { parseEntry } from '../entry.ts'
import { DATABASE_FILE, readJournalDatabaseId } from './journal-database-id.ts'
import { readJournalDirectory } from './producer-folder.ts'

/** The database that a restore brings, and the one whose place it takes. */
export interface RestoredDatabase {
  readonly restored: string
  /** `null`: there was none. */
  readonly replaced: string | null
  /** Whatever database had these stores is gone for good. */
  readonly takesAll: boolean
}

export interface RedisNames {
  readonly redisPrefix: string
  readonly streams: readonly string[]
  readonly clientIds: readonly string[]
}

const BATCH = 1_000

/**
 * Takes out of Redis what would mislead the restored database: the claim and the entries of the one that is replaced,
 * offsets, and what was used of limits. All of it comes again from Postgres and the journals, so this is harmless where
 * the restore fails afterwards. Entries of the restored database stay, and are counted once.
 *
 * @throws {BackupError} When the prefix belongs to a third database.
 */
export async function releaseRedis(
  redis: Redis,
  { redisPrefix, streams, clientIds }: RedisNames,
  { restored, replaced, takesAll }: RestoredDatabase,
): Promise<{ readonly removedEntries: number }> {
  const isGone = (database: string) => database !== restored && (takesAll || database === replaced)
  const owner = await redis.get(databaseName(redisPrefix))
  if (owner !== null && owner !== restored && !isGone(owner))
    throw new BackupError(
      `the Redis keys ${redisPrefix}* belong to another database (${owner}): set another REDIS_PREFIX, or say --force-identity where that one is gone for good; nothing was changed`,
    )
  let removedEntries = 0
  for (const stream of streams) {
    removedEntries += await removeEntries(redis, stream, isGone)
    await redis.del(offsetsName(redisPrefix, stream))
  }
  await redis.del(limitsSinceName(redisPrefix))
  for (const clientId of clientIds) await redis.del(limitsName(redisPrefix, clientId))
  if (owner !== null && owner !== restored) await redis.del(databaseName(redisPrefix))
  return { removedEntries }
}

async function removeEntries(
  redis: Redis,
  stream: string,
  isGone: (database: string) => boolean,
): Promise<number> {
  let removed = 0
  let from = '-'
  for (;;) {
    const entries = await redis.xrange(stream, from, '+', 'COUNT', BATCH)
    const last = entries.at(-1)
    if (last === undefined) return removed
    const gone = entries.flatMap(([id, fields]) => {
      const entry = parseEntry(fields)
      return entry.kind === 'entry' && entry.database !== null && isGone(entry.database) ? [id] : []
    })
    if (gone.length > 0) removed += await redis.xdel(stream, ...gone)
    from = `(${last[0]}`
  }
}

/**
 * Lets the journals in this folder that are bound to the replaced database be adopted by the restored one: what they
 * hold and it lacks is counted there, once. No gateway may run on the folder.
 *
 * @returns How many.
 */
export async function releaseJournals(
  journalDir: string,
  { restored, replaced, takesAll }: RestoredDatabase,
): Promise<number> {
  const producers = listProducers(journalDir)
  let released = 0
  for (const producer of producers) {
    const folder = join(journalDir, producer)
    const database = await readJournalDatabaseId(folder)
    if (database === null || database === restored || (!takesAll && database !== replaced)) continue
    await rm(join(folder, DATABASE_FILE), { force: true })
    released += 1
  }
  return released
}

function listProducers(journalDir: string): readonly string[] {
  try {
    return readJournalDirectory(journalDir).producers
  } catch (error) {
    if (isMissingFile(error)) return []
    throw error
  }
}
