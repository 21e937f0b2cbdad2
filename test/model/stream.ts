import type { Numbered } from '../../src/rollup/contiguous.ts'

/** A record, or a gap marker (`call` is `null`), as it is sent. */
export interface Sent extends Numbered {
  readonly producer: string
  readonly call: number | null
  readonly complete: boolean
}

export interface StreamEntry extends Sent {
  readonly id: number
}

/** Most that a gateway has. */
export const MAX_SHARDS = 3

/** The producer of a gateway's shard. It stays with its stream, also where its journal was adopted. */
export function producerOf(gateway: number, shard: number): string {
  return shard === 0 ? `p${gateway}` : `p${gateway}:${shard}`
}

function shardOfProducer(producer: string): number {
  return Number(producer.split(':')[1] ?? 0)
}

/** Redis, with the streams of all shards: it does what it is asked, and may lose entries. */
export class StreamModel {
  entries: readonly StreamEntry[] = []
  #saved: readonly StreamEntry[] = []
  #lastId = 0

  get lastId(): number {
    return this.#lastId
  }

  add(sent: Sent): number {
    this.entries = [...this.entries, { ...sent, id: ++this.#lastId }]
    return this.#lastId
  }

  get(id: number): StreamEntry | undefined {
    return this.entries.find((entry) => entry.id === id)
  }

  /** Entries of a shard's stream. */
  after(shard: number, id: number, count: number): readonly StreamEntry[] {
    return this.entries
      .filter((entry) => entry.id > id && shardOfProducer(entry.producer) === shard)
      .slice(0, count)
  }

  remove(ids: ReadonlySet<number>): void {
    this.entries = this.entries.filter(({ id }) => !ids.has(id))
  }

  /** A server that begins empty, with a clock that stepped back: ids that were given are given again. */
  startEmpty(lastId: number): void {
    this.entries = []
    this.#lastId = lastId
  }

  save(): void {
    this.#saved = this.entries
  }

  restore(): void {
    this.restoreTo(this.#saved)
  }

  /** The ids that come after are higher than those that are there, whatever the clock says. */
  restoreTo(entries: readonly StreamEntry[]): void {
    this.entries = entries
    this.#lastId = Math.max(this.#lastId, ...entries.map(({ id }) => id))
  }
}
