import type { Random } from '../faults/random.ts'
import { apply, copyOf, type JournalWrite, noTables, type Tables } from './tables.ts'

/** A journal of the release before: transactions of a database, of which power loss takes the last ones. */
export class OldJournal {
  readonly #durable: Tables = noTables()
  #unsynced: (readonly JournalWrite[])[] = []

  /** What kill -9 leaves. */
  get tables(): Tables {
    const tables = copyOf(this.#durable)
    for (const write of this.#unsynced.flat()) apply(tables, write, 0)
    return tables
  }

  commit(writes: readonly JournalWrite[]): void {
    this.#unsynced.push(writes)
  }

  /** All but the last `unsynced` transactions survive power loss from now on. */
  synced(unsynced: number): void {
    const count = Math.max(this.#unsynced.length - unsynced, 0)
    for (const write of this.#unsynced.splice(0, count).flat()) apply(this.#durable, write, 0)
  }

  losePower(random: Random): void {
    this.#unsynced = this.#unsynced.slice(0, random(this.#unsynced.length + 1))
    this.synced(0)
  }
}
