/** A call that a log has as open. */
export interface RecoveredCall {
  readonly number: number
  readonly text: string
  snapshot: string | null
  /** How many damaged regions the log had before it last said that the call was open. */
  damagesBefore: number
}

/** The calls that are open in a log that is being read. */
export class RecoveredCalls {
  readonly #open = new Map<number, RecoveredCall>()
  readonly #doubted = new Map<number, RecoveredCall>()
  #damages = 0
  /** So many calls were opened of which nothing can be read. Some of them may have ended. */
  unknown = 0

  /** The calls that were under way, by rising number. */
  get underWay(): RecoveredCall[] {
    return [...this.#open.values()].sort((a, b) => a.number - b.number)
  }

  /** Calls that were under way or had ended: which of the two cannot be read. */
  get doubted(): RecoveredCall[] {
    return [...this.#doubted.values()]
  }

  open(number: number, text: string): void {
    this.#open.set(number, { number, text, snapshot: null, damagesBefore: this.#damages })
  }

  carried(number: number, text: string, snapshot: string | null): void {
    this.#doubted.delete(number)
    this.#open.set(number, { number, text, snapshot, damagesBefore: this.#damages })
  }

  snapshot(number: number, snapshot: string): void {
    const call = this.#open.get(number) ?? this.#doubted.get(number)
    if (call === undefined) return // How it was opened cannot be read.
    call.snapshot = snapshot
    call.damagesBefore = this.#damages
    this.#doubted.delete(number)
    this.#open.set(number, call)
  }

  end(number: number): void {
    this.#open.delete(number)
    this.#doubted.delete(number)
  }

  /** A region of the log cannot be read. */
  damage(): void {
    this.#damages++
  }

  /** In what cannot be read, calls ended: each that was open before the last region may be one of them. */
  doubt(): void {
    for (const call of this.#open.values()) {
      if (call.damagesBefore === this.#damages) continue
      this.#open.delete(call.number)
      this.#doubted.set(call.number, call)
    }
  }
}
