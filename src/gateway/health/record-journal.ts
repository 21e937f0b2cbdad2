import { hostname } from 'node:os'
import type { Ledger } from '../../ledger/ledger.ts'
import type { Logger } from '../../lib/log.ts'
import { repeat } from '../../lib/repeat.ts'
import type { Postgres } from '../../store/connection/postgres.ts'
import { RECORD_JOURNAL_MS, recordGatewayJournal } from '../../store/ledger/gateway-journals.ts'

/** Records how full the journal of this process is, so that workers can send an alert. Without Postgres it waits. */
export function recordJournal(
  pool: Postgres,
  ledger: Pick<Ledger, 'stats'>,
  maxBytes: number,
  log: Logger,
): { stop(): Promise<void> } {
  const gateway = `${hostname()}:${process.pid}`
  return repeat(async () => {
    const { uncommittedRecords, uncommittedBytes, oldestUncommittedMs } = ledger.stats()
    const journal = { uncommittedRecords, uncommittedBytes, oldestUncommittedMs, maxBytes }
    await recordGatewayJournal(pool, gateway, journal).catch((err: unknown) =>
      log.debug({ err }, 'how full the journal is, is recorded later'),
    )
  }, RECORD_JOURNAL_MS)
}
