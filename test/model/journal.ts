/** One write of a journal. */
export type JournalWrite =
  | { readonly kind: 'open'; readonly call: number }
  | { readonly kind: 'record'; readonly call: number; readonly sequence: number; readonly complete: boolean }
  | { readonly kind: 'unopen'; readonly call: number }
  | { readonly kind: 'prune'; readonly to: number }

export interface JournalRecord {
  readonly call: number
  readonly complete: boolean
}

interface Tables {
  readonly open: Set<number>
  readonly records: Map<number, JournalRecord>
  prunedTo: number
}

/** A producer's journal: what kill -9 leaves, and under it what power loss leaves at least. */
export class JournalModel {
  readonly producer: string
  /** The process that holds its lock. */
  owner: number | null = null
  /** `finished`: deleted with everything counted. `lost`: its disk is gone. */
  state: 'there' | 'finished' | 'lost' = 'there'
  /** What is left of it when it is finished: its last number; 0: nothing. */
  retired = 0
  #durable: Tables = { open: new Set(), records: new Map(), prunedTo: 0 }
  #tables: Tables = { open: new Set(), records: new Map(), prunedTo: 0 }
  #tail: (readonly JournalWrite[])[] = []
  #committed = 0

  constructor(producer: string) {
    this.producer = producer
  }

  get open(): ReadonlySet<number> {
    return this.#tables.open
  }

  get prunedTo(): number {
    return this.#tables.prunedTo
  }

  get last(): number {
    return Math.max(this.lastRecord, this.prunedTo)
  }

  /** The highest number there is a record of; 0: none. */
  get lastRecord(): number {
    let last = 0
    for (const sequence of this.#tables.records.keys()) last = Math.max(last, sequence)
    return last
  }

  /** How many transactions were committed. */
  get committed(): number {
    return this.#committed
  }

  get(sequence: number): JournalRecord | undefined {
    return this.#tables.records.get(sequence)
  }

  /** Numbers after `sequence`, in order. */
  read(sequence: number, maxRows: number): number[] {
    const numbers = [...this.#tables.records.keys()].filter((number) => number > sequence)
    return numbers.sort((left, right) => left - right).slice(0, maxRows)
  }

  /** One transaction. */
  commit(...writes: readonly JournalWrite[]): void {
    for (const write of writes) apply(this.#tables, write)
    this.#tail.push(writes)
    this.#committed++
  }

  /** The first `committed` transactions survive power loss from now on. */
  synced(committed: number): void {
    const first = this.#committed - this.#tail.length
    for (const writes of this.#tail.splice(0, Math.max(committed - first, 0)))
      for (const write of writes) apply(this.#durable, write)
  }

  /** Power loss: of what was not synced, the disk has the first `keep(n)` of n transactions. Returns the others. */
  cut(keep: (transactions: number) => number): JournalWrite[] {
    const kept = keep(this.#tail.length + 1)
    const lost = this.#tail.slice(kept).flat()
    this.synced(this.#committed - this.#tail.length + kept)
    this.#committed -= this.#tail.length
    this.#tail = []
    const { open, records, prunedTo } = this.#durable
    this.#tables = { open: new Set(open), records: new Map(records), prunedTo }
    return lost
  }
}

function apply(tables: Tables, write: JournalWrite): void {
  switch (write.kind) {
    case 'open':
      tables.open.add(write.call)
      break
    case 'record':
      tables.records.set(write.sequence, { call: write.call, complete: write.complete })
      break
    case 'unopen':
      tables.open.delete(write.call)
      break
    case 'prune':
      for (const sequence of tables.records.keys()) if (sequence <= write.to) tables.records.delete(sequence)
      tables.prunedTo = write.to
      break
    default:
      write satisfies never
  }
}
