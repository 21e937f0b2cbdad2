/** The place of a producer's record on its stream. */
export interface SentEntry {
  /** The last sequence that a gap marker stands for. */
  readonly sequence: number
  readonly id: string
}

/**
 * The stream ids under which sequences were acknowledged last, in rising order. The id of a gap marker stands for every
 * sequence of the gap.
 */
export class SentIds {
  #sequences: number[] = []
  #ids: string[] = []
  #start = 0

  add(sequence: number, id: string): void {
    this.#sequences.push(sequence)
    this.#ids.push(id)
  }

  /** The entry that stands for `sequence`; `null`: not sent, or dropped. */
  find(sequence: number): SentEntry | null {
    let low = this.#start
    let high = this.#sequences.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sequences[middle] ?? 0) < sequence) low = middle + 1
      else high = middle
    }
    const own = this.#sequences[low]
    const id = this.#ids[low]
    return own === undefined || id === undefined ? null : { sequence: own, id }
  }

  /** Drops the sequences at or under `sequence`. */
  dropThrough(sequence: number): void {
    while ((this.#sequences[this.#start] ?? Number.POSITIVE_INFINITY) <= sequence) this.#start++
    if (this.#start > 1_024 && this.#start * 2 > this.#sequences.length) {
      this.#sequences = this.#sequences.slice(this.#start)
      this.#ids = this.#ids.slice(this.#start)
      this.#start = 0
    }
  }

  /** Drops all: everything will be sent again. */
  clear(): void {
    this.#sequences = []
    this.#ids = []
    this.#start = 0
  }
}
