import type { JournalRow } from '../journal.ts'
import { RecentRows } from '../recent-rows.ts'
import type { JournalDatabase } from './journal-database.ts'

/** The numbered records of a journal, and where they begin and end. */
export class StoredRecords {
  readonly #database: JournalDatabase
  readonly #recent = new RecentRows()
  #last: number
  #bytesTotal: number
  #prunedTo: number

  constructor(database: JournalDatabase) {
    this.#database = database
    this.#prunedTo = Number(database.getMeta('pruned_to') ?? 0)
    this.#last = Math.max(database.lastSequence(), this.#prunedTo)
    this.#bytesTotal = database.bytesTotalAt(this.#last)
  }

  get last(): number {
    return this.#last
  }

  get bytesTotal(): number {
    return this.#bytesTotal
  }

  get prunedTo(): number {
    return this.#prunedTo
  }

  /** These records were committed, the next ones in order. */
  add(rows: readonly JournalRow[]): void {
    const newest = rows.at(-1)
    if (newest === undefined) return
    this.#last = newest.sequence
    this.#bytesTotal = newest.bytesTotal
    for (const row of rows) this.#recent.add(row)
  }

  read(sequence: number, maxRows: number, maxBytes: number): readonly JournalRow[] {
    const recent = this.#recent.after(sequence, maxRows, maxBytes)
    return recent.length > 0 ? recent : this.#database.selectCalls(sequence, maxRows, maxBytes)
  }

  hasAnyOf(from: number, to: number): boolean {
    const next = this.read(Math.max(from - 1, this.#prunedTo), 1, 0)[0]
    return next !== undefined && next.sequence <= to
  }

  dropRecent(sequence: number): void {
    this.#recent.dropThrough(sequence)
  }

  bytesTotalAt(sequence: number): number {
    return sequence >= this.#last ? this.#bytesTotal : this.#database.bytesTotalAt(sequence)
  }

  /** The highest record to delete in one transaction: at most `maxRows`, none above `sequence`. */
  nextPrune(sequence: number, maxRows: number): number {
    return Math.min(sequence, this.#last, this.#prunedTo + maxRows)
  }

  /** Deletes the records at or under `sequence`. Throws when the disk refuses: none is deleted then. */
  prune(sequence: number): void {
    this.#database.transact(() => this.#database.deleteCalls(sequence))
    this.#prunedTo = sequence
  }
}
