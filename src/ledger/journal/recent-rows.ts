import type { JournalRow } from './sqlite/journal-database.ts'

/** What a second of a very busy gateway writes; more is read back from the journal. */
const MAX_BYTES = 2 * 1024 * 1024

/** The records committed last, so that the shipper need not read back what was just written. */
export class RecentRows {
  /** One run of sequences without a hole; those before `#start` are done with. */
  #rows: JournalRow[] = []
  #start = 0
  #bytes = 0

  add(row: JournalRow): void {
    this.#rows.push(row)
    this.#bytes += row.body.length
    while (this.#bytes > MAX_BYTES) this.#drop()
  }

  /** Forgets the records at or under `sequence`. */
  dropThrough(sequence: number): void {
    for (let first = this.#rows[this.#start]; first !== undefined; first = this.#rows[this.#start]) {
      if (first.sequence > sequence) return
      this.#drop()
    }
  }

  /**
   * The records after `sequence`, at most `maxRows` and, but for the first, at most `maxBytes` of bodies; none
   * when the first of them is not here.
   */
  after(sequence: number, maxRows: number, maxBytes: number): JournalRow[] {
    const first = this.#rows[this.#start]
    if (first === undefined || sequence + 1 < first.sequence) return []
    const from = this.#start + (sequence + 1 - first.sequence)
    const rows: JournalRow[] = []
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

  #drop(): void {
    this.#bytes -= this.#rows[this.#start]?.body.length ?? 0
    this.#start++
    if (this.#start === this.#rows.length || this.#start >= 1_024) {
      this.#rows = this.#rows.slice(this.#start)
      this.#start = 0
    }
  }
}
