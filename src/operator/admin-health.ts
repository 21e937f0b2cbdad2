import type { FastifyInstance } from 'fastify'
import {
  type LedgerFacts,
  type ListedGap,
  renderGap,
  renderLedger,
} from '../domain/documents/ledger-document.ts'

/** Where the journals are that the gateway which answers cares for. */
export interface JournalFacts {
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
  readonly readJournals: () => JournalFacts
  readonly lookAtLedger: () => Promise<LedgerFacts>
  /** The newest first. */
  readonly selectGaps: () => Promise<readonly ListedGap[]>
  /** What `doctor` says, as JSON. */
  readonly examine: () => Promise<object>
}

/**
 * `/ledger`: where it stands, and what the gateway that answers adds to it. `/ledger/gaps`: what is missing.
 * `/doctor`: what is reachable, what is wrong, and what to do about it.
 */
export function adminHealth(app: FastifyInstance, options: AdminHealthOptions): void {
  app.get('/ledger', async () => ({
    ...renderLedger(await options.lookAtLedger()),
    gateway: renderJournals(options.readJournals()),
  }))

  app.get('/ledger/gaps', async () => (await options.selectGaps()).map(renderGap))

  app.get('/doctor', () => options.examine())
}

function renderJournals(facts: JournalFacts) {
  return {
    uncommitted_records: facts.uncommittedRecords,
    uncommitted_bytes: facts.uncommittedBytes,
    oldest_uncommitted_ms: Math.round(facts.oldestUncommittedMs),
    open_calls: facts.openCalls,
    adopted: facts.adopted,
    corrupt: facts.corrupt,
    writable: facts.journalWritable,
  }
}
