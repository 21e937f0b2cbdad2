/** Counts how long sound plays, as its bytes pass. */
export interface SoundScan {
  /** Borrowed. */
  push(bytes: Buffer): void
  /**
   * No more bytes come. Gives the seconds of what a decoder gets; 0: nothing that it knows; `null`: it would take too long
   * to tell.
   */
  end(): number | null
  /** What the file says of its length beside, at the end; 0: nothing. */
  readonly headSeconds: number
}

const NOTHING: Buffer = Buffer.alloc(0)

/** Counts how often a pattern stands in bytes that come in pieces. */
export class Occurrences {
  readonly #pattern: Buffer
  #tail: Buffer = NOTHING
  count = 0

  constructor(pattern: Buffer) {
    this.#pattern = pattern
  }

  /** Borrowed. */
  push(piece: Buffer): void {
    const joint = Buffer.concat([this.#tail, piece.subarray(0, this.#pattern.length - 1)])
    this.#countIn(joint)
    this.#countIn(piece)
    const end = piece.length < this.#pattern.length ? joint : piece
    this.#tail = Buffer.from(end.subarray(-(this.#pattern.length - 1)))
  }

  #countIn(bytes: Buffer): void {
    for (let at = bytes.indexOf(this.#pattern); at >= 0; at = bytes.indexOf(this.#pattern, at + 1))
      this.count += 1
  }
}

/** Steps that a file may take beside those for its bytes. */
const FREE_STEPS = 10_000

/** Steps through bytes that come in pieces, and keeps few of them. */
export class Steps {
  readonly #view: number
  readonly #step: (bytes: Buffer, at: number) => number
  #carry: Buffer = NOTHING
  /** Pieces that are smaller than what a step sees wait until there is so much of them: each would be copied with all. */
  #small: Buffer = NOTHING
  #smallBytes = 0
  #skip = 0
  /** What is made of smaller parts than sound has takes no more steps than sound: it is given up. */
  #stepsLeft = FREE_STEPS
  readonly #bytesOfStep: number

  /**
   * @param bytesOfStep Of sound, a step passes over so many bytes at least, taken together.
   * @param view How many bytes a step sees from its place on; behind the end of all they are 0.
   * @param step Gives how far the next step is from this one: 1 at least.
   */
  constructor(bytesOfStep: number, view: number, step: (bytes: Buffer, at: number) => number) {
    this.#bytesOfStep = bytesOfStep
    this.#view = view
    this.#step = step
  }

  /** Borrowed. */
  push(piece: Buffer): void {
    if (this.#stepsLeft <= 0) return
    this.#stepsLeft += piece.length / this.#bytesOfStep
    if (this.#skip >= piece.length) {
      this.#skip -= piece.length
      return
    }
    const rest = piece.subarray(this.#skip)
    this.#skip = 0
    if (this.#smallBytes + rest.length >= this.#view) {
      this.#take(rest)
      return
    }
    if (this.#small.length === 0) this.#small = Buffer.allocUnsafe(this.#view)
    this.#smallBytes += rest.copy(this.#small, this.#smallBytes)
  }

  #take(rest: Buffer): void {
    const before = this.#carry.length + this.#smallBytes
    const small = this.#small.subarray(0, this.#smallBytes)
    const bytes = before === 0 ? rest : Buffer.concat([this.#carry, small, rest])
    this.#smallBytes = 0
    const at = this.#walk(bytes, bytes.length - this.#view)
    this.#skip = Math.max(0, at - bytes.length)
    this.#carry = at < bytes.length ? Buffer.from(bytes.subarray(at)) : NOTHING
  }

  /** Gives whether it has passed over all. */
  end(): boolean {
    if (this.#smallBytes > 0) this.#take(NOTHING)
    const left = this.#carry
    this.#carry = NOTHING
    this.#walk(Buffer.concat([left, Buffer.alloc(this.#view)]), left.length - 1)
    return this.#stepsLeft > 0
  }

  #walk(bytes: Buffer, last: number): number {
    let at = 0
    for (; at <= last && this.#stepsLeft > 0; this.#stepsLeft -= 1) at += this.#step(bytes, at)
    return at
  }
}
