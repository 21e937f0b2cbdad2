import type { JournalRow } from './journal.ts'

/** What a very busy gateway writes in a second; more is read back from the journal. */
const MAX_BYTES = 2 * 1024 * 1024
/** Of records that a disk does not sync: until then memory is the only place that surely has them. */
const MAX_UNSYNCED_BYTES = 32 * 1024 * 1024

/** The records committed last, so that the shipper need not read from disk what was just written. */
export class RecentRows<Row extends JournalRow = JournalRow> {
  /** One run of sequences without a gap; those before `#start` are no longer needed. */
  #rows: Row[] = []
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
    for (let first = this.#rows[this.#start]; first !== undefined; first = this.#rows[this.#start]) {
      if (first.sequence > sequence) return
      this.#drop()
    }
  }

  /**
   * The records after `sequence`: at most `maxRows` and, but for the first, at most `maxBytes` of bodies. None when
   * the first of them is not in memory.
   */
  after(sequence: number, maxRows: number, maxBytes: number): Row[] {
    const first = this.#rows[this.#start]
    if (first === undefined || sequence + 1 < first.sequence) return []
    const from = this.#start + (sequence + 1 - first.sequence)
    const rows: Row[] = []
    let bytes = 0
    for (let at = from; at < this.#rows.length && rows.length < maxRows; at++) {
      const row = this.#rows[at]
      if (row === undefined) break
      bytes += row.body.length
      if (rows.length > 0 && bytes > maxBytes) break
      rows.push(row)
    }
    return rows
  }

  #isNeeded(): boolean {
    const first = this.#rows[this.#start]
    return first !== undefined && first.sequence > this.#keptAfter
  }

  #drop(): void {
    this.#bytes -= this.#rows[this.#start]?.body.length ?? 0
    this.#start++
    if (this.#start === this.#rows.length || this.#start >= 1_024) {
      this.#rows = this.#rows.slice(this.#start)
      this.#start = 0
    }
  }
}
