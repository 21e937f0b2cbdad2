import type { LedgerSnapshot } from '../../domain/documents/ledger-document.ts'
import { SILENT_LOG } from '../../lib/logger.ts'
import { reasonOf } from '../../lib/reason-of.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { withRedis } from '../../store/connection/redis.ts'
import { readStreamBacklog } from '../../store/connection/redis-state.ts'
import { type LedgerStatus, selectLedgerStatus } from '../../store/ledger/ledger-status.ts'
import { readJournalSizes } from '../recovery/producer-folder.ts'

const REDIS_SILENCE_MS = 3_000

export interface LedgerOverview extends LedgerSnapshot {
  readonly ledger: LedgerStatus
  /** Why `backlogs` is `null`. */
  readonly redisProblem: string | null
}

/**
 * The state of the ledger in Postgres, in Redis and in the journals of this machine. Rejects without
 * Postgres.
 */
export async function inspectLedger({
  pool,
  redisUrl,
  journalDir,
}: {
  readonly pool: Postgres
  /** `null`: not reported. */
  readonly redisUrl: string | null
  readonly journalDir: string
}): Promise<LedgerOverview> {
  const ledger = await selectLedgerStatus(pool)
  const { journals, corrupt } = await readJournalSizes(journalDir)
  return {
    ledger,
    ...(await readBacklogs(redisUrl, ledger.streams)),
    journals: new Map(journals.map(({ producer, bytes }) => [producer, bytes])),
    corruptJournals: corrupt,
  }
}

async function readBacklogs(
  redisUrl: string | null,
  streams: readonly string[],
): Promise<Pick<LedgerOverview, 'backlogs' | 'redisProblem'>> {
  if (redisUrl === null) return { backlogs: null, redisProblem: 'REDIS_URL is not set' }
  try {
    const backlogs = await withRedis(redisUrl, REDIS_SILENCE_MS, SILENT_LOG, (redis) =>
      Promise.all(streams.map(async (stream) => [stream, await readStreamBacklog(redis, stream)] as const)),
    )
    return { backlogs: new Map(backlogs), redisProblem: null }
  } catch (error) {
    return { backlogs: null, redisProblem: reasonOf(error) }
  }
}
