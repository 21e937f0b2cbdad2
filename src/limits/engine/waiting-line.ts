import type { CallInLine } from './limiter.ts'

/** The calls that wait for a limit, in the order in which they came: others must not overtake them. */
export class WaitingLine extends Set<CallInLine> {
  #pass = Number.NaN
  #rest: SetIterator<CallInLine> | null = null
  #first: CallInLine | null = null

  /**
   * Whether no other call waits for the limit that came before. One that waits for what only some of the subject's calls
   * need, such as a user's own limit, holds up no others.
   *
   * @param pass Unlike that of the pass before over calls that wait. In a pass limits are taken and none is freed, so each
   * call of the line is asked once, and not once for each that asks.
   */
  isFirst(call: CallInLine, subjectId: string, nowMs: number, pass: number): boolean {
    if (pass !== this.#pass || this.#rest === null) {
      this.#pass = pass
      this.#rest = this.values()
      this.#first = null
    }
    while (this.#first === null || !this.has(this.#first) || !this.#first.waitsFor(subjectId, nowMs)) {
      const { value, done } = this.#rest.next()
      if (done === true) return true
      this.#first = value
    }
    return call.place <= this.#first.place
  }
}
