/** Goes through many values, some of them at a time. */
export class SlowWalk<Value> {
  #rest: Iterator<Value> | null = null
  #beganMs = Number.NEGATIVE_INFINITY

  begin(values: Iterable<Value>, nowMs: number): void {
    this.#rest = values[Symbol.iterator]()
    this.#beganMs = nowMs
  }

  /** Begins again where it is over and began so long ago. */
  repeat(values: Iterable<Value>, nowMs: number, everyMs: number): void {
    if (this.#rest === null && nowMs - this.#beganMs >= everyMs) this.begin(values, nowMs)
  }

  /**
   * Goes on until it is over, or the work is done.
   *
   * @param visit gives how much of the work it was; `undefined`: 1.
   */
  go(work: number, visit: (value: Value) => number | undefined): void {
    for (let left = work; this.#rest !== null && left > 0; ) {
      const next = this.#rest.next()
      if (next.done === true) this.#rest = null
      else left -= visit(next.value) ?? 1
    }
  }
}
