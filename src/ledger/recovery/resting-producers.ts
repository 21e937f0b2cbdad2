import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { writeDurably } from '../durable-file.ts'
import { type OffsetReading, prunableUpTo } from '../shipping/committed-offset-reader.ts'

/** In a producer's folder, once it rested: the highest of its records, all of which were counted. */
export const COUNTED_FILE = 'counted'

/** The state that a folder has of a producer that rested. */
export interface CountedJournal {
  /** The highest of its records. */
  readonly last: number
  /** Something in its journal could not be read: in the end its folder is kept. */
  readonly damaged: boolean
}

/** The state that is kept of a dead producer whose folder only waits for its keep time. */
export interface RestingProducer extends CountedJournal {
  /** Committed offsets as they were read, oldest first: one of them says that all records were counted. */
  readonly readings: readonly OffsetReading[]
}

/**
 * Dead producers of which everything was counted, released so that others can be adopted in their place. Nothing of
 * them is open. They are adopted again to delete their folders, or when Postgres was restored to before what it had
 * counted of them.
 */
export class RestingProducers {
  readonly #keepMs: number
  readonly #now: () => number
  readonly #resting = new Map<string, RestingProducer>()

  /**
   * @param keepMs how long counted records are kept
   * @param now monotonic milliseconds
   */
  constructor(keepMs: number, now: () => number) {
    this.#keepMs = keepMs
    this.#now = now
  }

  get ids(): readonly string[] {
    return [...this.#resting.keys()]
  }

  add(id: string, resting: RestingProducer): void {
    this.#resting.set(id, resting)
  }

  /** Tells whether there is nothing to do for it yet. */
  isWaiting(id: string): boolean {
    const resting = this.#resting.get(id)
    return resting !== undefined && !this.isDue(resting)
  }

  /** Tells whether its records were kept for long enough. */
  isDue({ last, readings }: RestingProducer): boolean {
    return prunableUpTo(readings, { atMs: this.#now(), committedOffset: last }, this.#keepMs) >= last
  }

  /** Drops it: it is adopted again. `null`: it did not rest. */
  take(id: string): RestingProducer | null {
    const resting = this.#resting.get(id) ?? null
    this.#resting.delete(id)
    return resting
  }

  /** Drops those of `ids` of which Postgres, by its offsets now, no longer has all records. */
  compare(ids: readonly string[], offsets: ReadonlyMap<string, number>): void {
    for (const id of ids)
      if ((offsets.get(id) ?? 0) < (this.#resting.get(id)?.last ?? 0)) this.#resting.delete(id)
  }

  /** Drops all but these. */
  keepOnly(producers: readonly string[]): void {
    const kept = new Set(producers)
    for (const id of this.#resting.keys()) if (!kept.has(id)) this.#resting.delete(id)
  }
}

/** The caller must hold the folder's lock. */
export async function writeCountedFile(folder: string, { last, damaged }: CountedJournal): Promise<void> {
  await writeDurably(join(folder, COUNTED_FILE), `${JSON.stringify({ last, damaged })}\n`)
}

/** `null`: it never rested, or what says so cannot be read: it is adopted then, which shows the same. */
export async function readCountedFile(folder: string): Promise<CountedJournal | null> {
  try {
    const { last, damaged } = Object(JSON.parse(await readFile(join(folder, COUNTED_FILE), 'utf8')))
    return Number.isSafeInteger(last) && last > 0 ? { last, damaged: damaged === true } : null
  } catch {
    return null
  }
}
