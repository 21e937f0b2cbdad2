import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite'
import type { JournalRow } from '../journal.ts'
import type { InterruptedRow } from '../journal-store.ts'
import { createTables } from './journal-tables.ts'

/**
 * The statements on one `journal.db`; nothing is decided here. Those that write belong in `transact`.
 * Every method throws the errors of `node:sqlite`.
 */
export class JournalDatabase {
  readonly #database: DatabaseSync
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #insertOpen: StatementSync
  readonly #setSnapshot: StatementSync
  readonly #deleteOpen: StatementSync
  readonly #insertCall: StatementSync
  readonly #selectCalls: StatementSync
  readonly #deleteCalls: StatementSync
  readonly #setMeta: StatementSync
  readonly #walFrames: StatementSync

  /**
   * Opens the journal at `path`.
   *
   * @param stream the full key of its stream: creates the tables of a new journal.
   */
  constructor(path: string, stream?: string) {
    const database = new DatabaseSync(path, { timeout: 0 })
    this.#database = database
    try {
      if (stream !== undefined) createTables(database, stream)
      // NORMAL: a commit writes and does not sync. Checkpoints are ours to time, and to keep off the event loop.
      database.exec('pragma synchronous = normal; pragma wal_autocheckpoint = 0; pragma cache_size = -8192')
      this.#begin = database.prepare('begin immediate')
      this.#commit = database.prepare('commit')
      this.#insertOpen = database.prepare('insert into open(slot, call) values (?, ?)')
      this.#setSnapshot = database.prepare('update open set seen = ? where slot = ?')
      this.#deleteOpen = database.prepare('delete from open where slot = ?')
      this.#insertCall = database.prepare('insert into calls(sequence, bytes_total, body) values (?, ?, ?)')
      this.#selectCalls = database.prepare(
        'select sequence, bytes_total as bytesTotal, body from calls where sequence > ? order by sequence limit ?',
      )
      this.#deleteCalls = database.prepare('delete from calls where sequence <= ?')
      this.#setMeta = database.prepare(
        'insert into meta(name, value) values (?, ?) on conflict do update set value = excluded.value',
      )
      this.#walFrames = database.prepare('pragma wal_checkpoint(noop)')
      this.exclude()
    } catch (error) {
      database.close()
      throw error
    }
  }

  /**
   * Keeps every other connection out from the next transaction on. A commit is then two system calls a page and
   * no lock: two fifths cheaper than with others let in.
   */
  exclude(): void {
    this.#database.exec('pragma locking_mode = exclusive')
  }

  /** Lets other connections in, such as that of the thread for a checkpoint. */
  share(): void {
    this.#database.exec('pragma locking_mode = normal')
    try {
      this.#database.exec('select 1 from meta limit 1') // The lock goes at the end of the next transaction.
    } catch {
      // Another connection has the journal for itself just now: there is no lock of ours to release.
    }
  }

  /** Runs `statements` in one transaction; when they or the commit throw, nothing of them is written. */
  transact<T>(statements: () => T): T {
    try {
      this.begin()
      const result = statements()
      this.commit()
      return result
    } catch (error) {
      this.rollback()
      throw error
    }
  }

  begin(): void {
    this.#begin.run()
  }

  commit(): void {
    this.#commit.run()
  }

  /** Undoes the transaction under way; SQLite may have done so itself. */
  rollback(): void {
    if (this.#database.isTransaction) this.#database.exec('rollback')
  }

  insertOpen(slot: number, call: string): void {
    this.#insertOpen.run(slot, call)
  }

  setSnapshot(slot: number, snapshot: string): void {
    this.#setSnapshot.run(snapshot, slot)
  }

  deleteOpen(slot: number): void {
    this.#deleteOpen.run(slot)
  }

  insertCall(sequence: number, bytesTotal: number, body: string): void {
    this.#insertCall.run(sequence, bytesTotal, body)
  }

  /** Deletes the records at or under `sequence` and remembers that they were there. */
  deleteCalls(sequence: number): void {
    this.#deleteCalls.run(sequence)
    this.setMeta('pruned_to', sequence)
  }

  setMeta(name: string, value: number | string): void {
    this.#setMeta.run(name, value)
  }

  /** `undefined`: never set. */
  getMeta(name: string): unknown {
    return this.#database.prepare('select value from meta where name = ?').get(name)?.value
  }

  /** Records after `sequence`, in order: at most `maxRows` and, but for the first, at most `maxBytes` of bodies. */
  selectCalls(sequence: number, maxRows: number, maxBytes: number): JournalRow[] {
    const rows: JournalRow[] = []
    let bytes = 0
    for (const row of this.#selectCalls.iterate(sequence, maxRows)) {
      const body = text(row.body)
      bytes += body.length
      if (rows.length > 0 && bytes > maxBytes) break
      rows.push({ sequence: number(row.sequence), bytesTotal: number(row.bytesTotal), body })
    }
    return rows
  }

  /** Calls under way with slots above `afterSlot`, in order. */
  selectOpen(afterSlot: number, maxRows: number): InterruptedRow[] {
    const select = this.#database.prepare(
      'select slot, call, seen from open where slot > ? order by slot limit ?',
    )
    return select.all(afterSlot, maxRows).map((row) => ({
      slot: number(row.slot),
      call: text(row.call),
      snapshot: row.seen === null ? null : text(row.seen),
    }))
  }

  /** The highest sequence there is; 0 without records. */
  lastSequence(): number {
    return this.#number('select max(sequence) as number from calls')
  }

  /** `bytes_total` of the last record at or under `sequence`; without one, of what was before the first record. */
  bytesTotalAt(sequence: number): number {
    const at = 'select bytes_total as number from calls where sequence <= ? order by sequence desc limit 1'
    const before = 'select bytes_total - octet_length(body) as number from calls order by sequence limit 1'
    return this.#number(at, sequence) || this.#number(before)
  }

  /** The WAL's length in frames as of the last transaction, each a page and 24 bytes; 0 where SQLite does not say. */
  walFrames(): number {
    try {
      return Number(this.#walFrames.get()?.log ?? 0)
    } catch {
      return 0
    }
  }

  close(): void {
    this.#database.close()
  }

  #number(sql: string, ...values: number[]): number {
    return Number(this.#database.prepare(sql).get(...values)?.number ?? 0)
  }
}

function number(value: SQLOutputValue | undefined): number {
  if (typeof value !== 'number') throw new TypeError(`the journal has ${typeof value} where a number belongs`)
  return value
}

function text(value: SQLOutputValue | undefined): string {
  if (typeof value !== 'string') throw new TypeError(`the journal has ${typeof value} where text belongs`)
  return value
}
