import type { FastifyInstance } from 'fastify'
import { type Backlog, type LedgerFacts, renderLedger } from '../domain/ledger-document.ts'

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
  readonly selectLedger: () => Promise<LedgerFacts>
  /** What waits on these streams; `null`: Redis does not answer. */
  readonly readBacklog: (streams: readonly string[]) => Promise<Backlog | null>
  /** What `doctor` says, as JSON. */
  readonly examine: () => Promise<object>
}

/** `/ledger`: where it stands. `/doctor`: what is reachable, what is wrong, and what to do about it. */
export function adminHealth(app: FastifyInstance, options: AdminHealthOptions): void {
  app.get('/ledger', async () => {
    const facts = await options.selectLedger()
    const backlog = await options.readBacklog(facts.streams)
    return { ...renderLedger(facts, backlog), journals: renderJournals(options.readJournals()) }
  })

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
