import type { FastifyInstance } from 'fastify'
import {
  type LedgerSnapshot,
  type ListedGap,
  renderGap,
  renderLedger,
} from '../domain/documents/ledger-document.ts'

/** The directory of the journals that this gateway owns. */
export interface JournalStatus {
  readonly uncommittedRecords: number
  readonly uncommittedBytes: number
  /** How long the oldest of them has waited. */
  readonly oldestUncommittedMs: number
  readonly openCalls: number
  readonly adopted: number
  readonly corrupt: number
  readonly journalWritable: boolean
}

export interface AdminHealthOptions {
  readonly readJournals: () => JournalStatus
  readonly inspectLedger: () => Promise<LedgerSnapshot>
  /** The newest first. */
  readonly selectGaps: () => Promise<readonly ListedGap[]>
  /** The findings of `doctor` as JSON. */
  readonly runChecks: () => Promise<object>
}

/**
 * `/ledger`: its state, and what this gateway adds to it. `/ledger/gaps`: what is missing. `/doctor`: what is
 * reachable, what is wrong, and what to do about it.
 */
export function adminHealth(app: FastifyInstance, options: AdminHealthOptions): void {
  app.get('/ledger', async () => ({
    ...renderLedger(await options.inspectLedger()),
    gateway: renderJournals(options.readJournals()),
  }))

  app.get('/ledger/gaps', async () => (await options.selectGaps()).map(renderGap))

  app.get('/doctor', () => options.runChecks())
}

function renderJournals(status: JournalStatus) {
  return {
    uncommitted_records: status.uncommittedRecords,
    uncommitted_bytes: status.uncommittedBytes,
    oldest_uncommitted_ms: Math.round(status.oldestUncommittedMs),
    open_calls: status.openCalls,
    adopted: status.adopted,
    corrupt: status.corrupt,
    writable: status.journalWritable,
  }
}
