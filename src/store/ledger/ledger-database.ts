import type { Postgres } from '../connection/postgres.ts'
import { readCommittedOffsets, readDatabaseId, readGaps, registerStream } from './ledger-state.ts'

/** What the ledger of a gateway asks of Postgres, as questions to `pool`. Every answer rejects when Postgres is away. */
export function buildLedgerDatabase(pool: Postgres) {
  return {
    readCommittedOffsets: (producers: readonly string[]) => readCommittedOffsets(pool, producers),
    readGaps: (producer: string) => readGaps(pool, producer),
    readDatabaseId: () => readDatabaseId(pool),
    registerStream: (stream: string) => registerStream(pool, stream),
  }
}
