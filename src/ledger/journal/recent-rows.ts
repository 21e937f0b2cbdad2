import type { JournalRow } from './journal.ts'

/** A very busy gateway writes this much in a second; more is read back from the journal. */
const MAX_BYTES = 2 * 1024 * 1024
/** Bound of records that a disk does not sync: until then memory is the only place that surely has them. */
const MAX_UNSYNCED_BYTES = 32 * 1024 * 1024

/** The records committed last, so that the shipper need not read from disk what was just written. */
export class RecentRows<Row extends JournalRow = JournalRow> {
  /**
   * One run of sequences without a gap. Places before `#start` are empty: of a row that lingered there, V8 would make
   * an old object, and those cost many times as much to free.
   */
  #rows: (Row | null)[] = []
  #start = 0
  #bytes = 0
  /** The records above it are dropped for want of room only when there are very many. */
  #keptAfter = Number.POSITIVE_INFINITY

  add(row: Row): void {
    this.#rows.push(row)
    this.#bytes += row.body.length
    while (this.#bytes > (this.#isNeeded() ? MAX_UNSYNCED_BYTES : MAX_BYTES)) this.#drop()
  }

  /** The records above `sequence` are needed in memory; the others are read back. Before the first call, none is. */
  keepAfter(sequence: number): void {
    this.#keptAfter = sequence
  }

  /** Drops the records at or under `sequence`. */
  dropThrough(sequence: number): void {
    for (let first = this.#first(); first !== null; first = this.#first()) {
      if (first.sequence > sequence) return
      this.#drop()
    }
  }

  /**
   * The records after `sequence`: at most `maxRows` and, but for the first, at most `maxBytes` of bodies. None when
   * the first of them is not in memory.
   */
  after(sequence: number, maxRows: number, maxBytes: number): Row[] {
    const first = this.#first()
    if (first === null || sequence + 1 < first.sequence) return []
    const from = this.#start + (sequence + 1 - first.sequence)
    const rows: Row[] = []
    let bytes = 0
    for (let at = from; at < this.#rows.length && rows.length < maxRows; at++) {
      const row = this.#rows[at] ?? null
      if (row === null) break
      bytes += row.body.length
      if (rows.length > 0 && bytes > maxBytes) break
      rows.push(row)
    }
    return rows
  }

  #isNeeded(): boolean {
    const first = this.#first()
    return first !== null && first.sequence > this.#keptAfter
  }

  #first(): Row | null {
    return this.#rows[this.#start] ?? null
  }

  #drop(): void {
    this.#bytes -= this.#first()?.body.length ?? 0
    this.#rows[this.#start] = null
    this.#start++
    if (this.#start === this.#rows.length || this.#start >= 1_024) {
      this.#rows = this.#rows.slice(this.#start)
      this.#start = 0
    }
  }
}
