/** What Postgres knows of the ledger. */
export interface LedgerFacts {
  readonly streams: readonly string[]
  readonly producerCount: number
  readonly producers: readonly {
    readonly producer: string
    readonly stream: string
    readonly mark: number
    readonly movedAt: Date
  }[]
  readonly gapCount: number
  readonly missingRecords: bigint
  readonly gaps: readonly {
    readonly producer: string
    readonly from: number
    readonly to: number
    readonly reason: string
    readonly recordedAt: Date
  }[]
  readonly deadLetters: number
}

/** Records on the streams that are not rolled up yet. */
export interface Backlog {
  readonly entries: number
  /** Age of the one that waits longest. */
  readonly oldestMs: number
}

/** Where the ledger stands, as JSON, the same on the command line and over HTTP. `backlog` `null`: not known. */
export function renderLedger(facts: LedgerFacts, backlog: Backlog | null) {
  return {
    streams: facts.streams,
    backlog: backlog === null ? null : { entries: backlog.entries, oldest_ms: backlog.oldestMs },
    dead_letters: facts.deadLetters,
    gap_count: facts.gapCount,
    missing_records: Number(facts.missingRecords),
    gaps: facts.gaps.map(({ producer, from, to, reason, recordedAt }) => ({
      producer,
      from,
      to,
      reason,
      recorded_at: recordedAt.toISOString(),
    })),
    producer_count: facts.producerCount,
    producers: facts.producers.map(({ producer, stream, mark, movedAt }) => ({
      producer,
      stream,
      mark,
      moved_at: movedAt.toISOString(),
    })),
  }
}
