import type { Numbered } from '../../workers/contiguous.ts'

/** A record, or a void (`call` is `null`), as it is sent. */
export interface Sent extends Numbered {
  readonly producer: string
  readonly call: number | null
  readonly complete: boolean
}

export interface StreamEntry extends Sent {
  readonly id: number
}

/** Redis: it does what it is told, and may forget. */
export class StreamModel {
  entries: readonly StreamEntry[] = []
  #saved: readonly StreamEntry[] = []
  #lastId = 0

  add(sent: Sent): number {
    this.entries = [...this.entries, { ...sent, id: ++this.#lastId }]
    return this.#lastId
  }

  has(id: number): boolean {
    return this.entries.some((entry) => entry.id === id)
  }

  after(id: number, count: number): readonly StreamEntry[] {
    return this.entries.filter((entry) => entry.id > id).slice(0, count)
  }

  remove(ids: ReadonlySet<number>): void {
    this.entries = this.entries.filter(({ id }) => !ids.has(id))
  }

  save(): void {
    this.#saved = this.entries
  }

  restore(): void {
    this.entries = this.#saved
  }

  restoreTo(entries: readonly StreamEntry[]): void {
    this.entries = entries
  }
}
