import type { Redis } from 'ioredis'
import { parseEntry, parseRecord } from '../../../src/ledger/entry.ts'
import type { LedgerDatabase } from '../../../src/ledger/ledger-database.ts'

interface Range {
  readonly from: number
  readonly to: number
}

interface State {
  readonly committedOffsets: Map<string, number>
  /** How many times each call was counted. */
  readonly counted: Map<string, number>
  readonly gaps: { readonly producer: string; readonly from: number; to: number; readonly reason: string }[]
}

/** Stands for Postgres and its workers: committed offsets and totals that move together, by the rules of docs/ledger.md. */
export class Totals implements LedgerDatabase {
  #state: State = { committedOffsets: new Map(), counted: new Map(), gaps: [] }
  /** Every query is refused while true. */
  away = false
  readonly streams: string[] = []

  get counted(): ReadonlyMap<string, number> {
    return this.#state.counted
  }

  get gaps(): State['gaps'] {
    return this.#state.gaps
  }

  /** The calls that were counted other than once. */
  get miscounted(): [string, number][] {
    return [...this.#state.counted].filter(([, times]) => times !== 1)
  }

  get committedOffsets(): ReadonlyMap<string, number> {
    return this.#state.committedOffsets
  }

  committedOffset(producer: string): number {
    return this.#state.committedOffsets.get(producer) ?? 0
  }

  setCommittedOffset(producer: string, committedOffset: number): void {
    this.#state.committedOffsets.set(producer, committedOffset)
  }

  readonly readCommittedOffsets = async (
    producers: readonly string[],
  ): Promise<ReadonlyMap<string, number>> => {
    this.#answer()
    return new Map([...this.#state.committedOffsets].filter(([producer]) => producers.includes(producer)))
  }

  readonly readGaps = async (producer: string): Promise<Range[]> => {
    this.#answer()
    return this.#state.gaps.filter((gap) => gap.producer === producer).map(({ from, to }) => ({ from, to }))
  }

  /** Another one is another database. */
  database = 'a'

  readonly readDatabaseId = async (): Promise<string> => {
    this.#answer()
    return this.database
  }

  readonly registerStream = async (stream: string): Promise<void> => {
    this.#answer()
    if (!this.streams.includes(stream)) this.streams.push(stream)
  }

  /** What a failover or a restore may bring back. */
  snapshot(): State {
    return structuredClone(this.#state)
  }

  restore(state: State): void {
    this.#state = structuredClone(state)
  }

  /** A worker takes records after the committed offset for lost and goes on behind them. */
  giveUp(producer: string, to: number): void {
    this.#state.gaps.push({ producer, from: this.committedOffset(producer) + 1, to, reason: 'producer_lost' })
    this.setCommittedOffset(producer, to)
  }

  /** One run of the roll-up over all of a stream. */
  async rollUp(redis: Redis, stream: string): Promise<void> {
    this.#answer()
    const entries = await redis.xrange(stream, '-', '+')
    const done: string[] = []
    for (const [id, fields] of entries) {
      const entry = parseEntry(fields)
      if (entry.kind === 'newer') throw new Error('a newer entry')
      if (entry.kind === 'corrupt' || this.#take(entry.producer, entry.sequence, entry.body)) done.push(id)
    }
    if (done.length > 0) await redis.xdel(stream, ...done)
  }

  /** True: the entry may leave the stream. */
  #take(producer: string, sequence: number, body: string): boolean {
    const record = parseRecord(body)
    if (record === null) throw new Error(`not a record: ${body}`)
    const committedOffset = this.committedOffset(producer)
    if (sequence <= committedOffset) {
      if (!('void' in record)) this.#fillGap(producer, sequence, record.callId)
      return true
    }
    if ('void' in record) {
      if (record.void.from > committedOffset + 1) return false
      this.#state.gaps.push({ producer, from: committedOffset + 1, to: sequence, reason: record.void.reason })
    } else {
      if (sequence !== committedOffset + 1) return false
      this.#count(record.callId)
    }
    this.setCommittedOffset(producer, sequence)
    return true
  }

  #fillGap(producer: string, sequence: number, callId: string): void {
    const { gaps } = this.#state
    const index = gaps.findIndex(
      (gap) => gap.producer === producer && gap.from <= sequence && sequence <= gap.to,
    )
    const gap = gaps[index]
    if (gap === undefined) return
    this.#count(callId)
    const rest = [
      { ...gap, to: sequence - 1 },
      { ...gap, from: sequence + 1 },
    ]
    gaps.splice(index, 1, ...rest.filter(({ from, to }) => from <= to))
  }

  #count(callId: string): void {
    this.#state.counted.set(callId, (this.#state.counted.get(callId) ?? 0) + 1)
  }

  #answer(): void {
    if (this.away) throw new Error('Postgres is away')
  }
}
