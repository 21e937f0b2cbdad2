/** Records known to be missing: sequences of one producer, both ends included. */
export interface ListedGap {
  readonly producer: string
  readonly from: number
  readonly to: number
  /** The reason given by the producer or the worker. */
  readonly reason: string
  readonly recordedAt: Date
}

/** The state of the ledger. */
export interface LedgerSnapshot {
  readonly ledger: {
    readonly streams: readonly string[]
    readonly producerCount: number
    /** The producers whose committed offset moved last. */
    readonly producers: readonly {
      readonly producer: string
      readonly stream: string
      readonly committedOffset: number
      readonly movedAt: Date
    }[]
    readonly gapCount: number
    readonly missingRecords: bigint
    readonly deadLetters: number
  }
  /** By stream, its backlog; `null`: Redis is not configured or does not answer. */
  readonly backlogs: ReadonlyMap<string, { readonly entries: number; readonly oldestMs: number }> | null
  /** Bytes of the journals on this machine, by producer. */
  readonly journals: ReadonlyMap<string, number>
  readonly corruptJournals: number
}

/** The state of the ledger as JSON, the same on the command line and over HTTP. */
export function renderLedger({ ledger, backlogs, journals, corruptJournals }: LedgerSnapshot) {
  const known = new Set(ledger.producers.map(({ producer }) => producer))
  return {
    streams: ledger.streams.map((name) => ({
      name,
      waiting: backlogs?.get(name)?.entries ?? null,
      oldest_ms: backlogs?.get(name)?.oldestMs ?? null,
    })),
    producer_count: ledger.producerCount,
    producers: ledger.producers.map(({ producer, stream, committedOffset, movedAt }) => ({
      producer,
      stream,
      mark: committedOffset,
      moved_at: movedAt.toISOString(),
      journal_bytes: journals.get(producer) ?? null,
    })),
    journals_not_counted_from: [...journals.keys()].filter((producer) => !known.has(producer)),
    corrupt_journals: corruptJournals,
    gaps: ledger.gapCount,
    missing_records: Number(ledger.missingRecords),
    dead_letters: ledger.deadLetters,
  }
}

/** A gap as JSON, the same on the command line and over HTTP. */
export function renderGap({ producer, from, to, reason, recordedAt }: ListedGap) {
  return { producer, from, to, records: to - from + 1, reason, recorded_at: recordedAt.toISOString() }
}
