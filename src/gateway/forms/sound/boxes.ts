/** Deeper than files of sound and film are. */
const MOST_OPEN = 32
const ALL = Number.MAX_SAFE_INTEGER

/** Boxes within boxes, as MP4 and Matroska have them: how far it is from one to the next. */
export class Boxes {
  /** Where those end that are open and say it, the outermost first. */
  readonly #ends: number[] = []
  #at = 0
  /** A box reaches beyond the one around it, and decoders differ in what they find behind. Nothing more is read. */
  isBroken = false

  /**
   * Goes into a box.
   *
   * @param head the bytes before what is in it.
   * @param size the bytes of what is in it; `Infinity`: it does not say.
   */
  enter(head: number, size: number): number {
    const end = this.#endOf(head, size)
    if (size !== Number.POSITIVE_INFINITY) this.#ends.push(end)
    this.isBroken ||= this.#ends.length > MOST_OPEN
    return this.#go(head)
  }

  /** Goes over a box. One that does not say its size ends with the one around it. */
  pass(head: number, size: number): number {
    return this.#go(this.#endOf(head, size) - this.#at)
  }

  #endOf(head: number, size: number): number {
    while ((this.#ends.at(-1) ?? ALL) <= this.#at) this.#ends.pop()
    const around = this.#ends.at(-1) ?? ALL
    const end = this.#at + head + size
    this.isBroken ||= end > around && size !== Number.POSITIVE_INFINITY
    return Math.min(end, around)
  }

  #go(step: number): number {
    this.#at += step
    return this.isBroken ? ALL : step
  }
}
