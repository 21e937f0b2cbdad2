/** An answer that holds for a while: `fromMs` <= time < `untilMs`, milliseconds since 1970. */
export interface TimedAnswer {
  readonly fromMs: number
  readonly untilMs: number
}

/** The answers to one query: now's, and the one before, for calls that began before it ended. */
interface Known<Answer> {
  readonly latest: Answer
  readonly earlier: Answer | null
}

/**
 * Remembers answers by query and time, for at most twice `capacity` queries: when one generation is full, the
 * one before is dropped. A query that is asked is carried over; one hit costs one look-up.
 */
export class CatalogCache<Answer extends TimedAnswer> {
  readonly #capacity: number
  #young = new Map<string, Known<Answer>>()
  #old = new Map<string, Known<Answer>>()

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  /** The answer for `atMs`, made by `resolve` where it is not known. */
  find(query: string, atMs: number, resolve: () => Answer): Answer {
    const young = this.#young.get(query)
    const known = young ?? this.#old.get(query)
    if (known !== undefined) {
      const { latest, earlier } = known
      const holds = isWithin(latest, atMs)
      if (holds || (earlier !== null && isWithin(earlier, atMs))) {
        if (young === undefined) this.#keep(query, known)
        return holds || earlier === null ? latest : earlier
      }
    }
    const answer = resolve()
    this.#keep(query, { latest: answer, earlier: known?.latest ?? null })
    return answer
  }

  #keep(query: string, known: Known<Answer>): void {
    if (this.#young.size >= this.#capacity && !this.#young.has(query)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(query, known)
  }
}

/** Whether an answer holds at a moment, milliseconds since 1970. */
export function isWithin({ fromMs, untilMs }: TimedAnswer, atMs: number): boolean {
  return atMs >= fromMs && atMs < untilMs
}
