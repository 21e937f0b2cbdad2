/** Emptied places are cut off the list once they are so many, and half of it. */
const COMPACT_FROM = 256

/**
 * What this gateway's records cost, by their sequence numbers, as far as Postgres may not have counted them. So what
 * was counted at any committed offset is known exactly.
 */
export class RecordedCosts {
  #sequences: number[] = []
  #amounts: bigint[] = []
  #head = 0
  /** Up to here records were dropped, and cost `#dropped` together. */
  #droppedTo = 0
  #dropped = 0n

  get size(): number {
    return this.#sequences.length - this.#head
  }

  add(sequence: number, pico: bigint): void {
    if (sequence <= this.#droppedTo) {
      this.#dropped += pico
      return
    }
    let at = this.#sequences.length
    // Records come in their order, but for those that waited for something.
    while (at > this.#head && (this.#sequences[at - 1] ?? 0) > sequence) at -= 1
    if (at === this.#sequences.length) {
      this.#sequences.push(sequence)
      this.#amounts.push(pico)
      return
    }
    this.#sequences.splice(at, 0, sequence)
    this.#amounts.splice(at, 0, pico)
  }

  /** What the records up to and with this one cost; `null`: single ones were dropped beyond it. */
  upTo(offset: number): bigint | null {
    if (offset < this.#droppedTo) return null
    let sum = this.#dropped
    for (let at = this.#head; at < this.#sequences.length; at += 1) {
      if ((this.#sequences[at] ?? 0) > offset) break
      sum += this.#amounts[at] ?? 0n
    }
    return sum
  }

  /** Sums up the records up to and with this one: no earlier offset is asked for any more. */
  drop(offset: number): void {
    if (offset <= this.#droppedTo) return
    this.#droppedTo = offset
    let first = this.#sequences[this.#head]
    while (first !== undefined && first <= offset) {
      this.#dropped += this.#amounts[this.#head] ?? 0n
      this.#head += 1
      first = this.#sequences[this.#head]
    }
    if (this.#head < COMPACT_FROM || this.#head * 2 < this.#sequences.length) return
    this.#sequences = this.#sequences.slice(this.#head)
    this.#amounts = this.#amounts.slice(this.#head)
    this.#head = 0
  }
}
