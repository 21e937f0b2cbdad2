/** Counts frames of one connection in windows of time. */
export class FrameBudget {
  readonly #frames: number
  readonly #windowMs: number
  #count = 0
  #sinceMs = Number.NEGATIVE_INFINITY

  constructor(frames: number, windowMs: number) {
    this.#frames = frames
    this.#windowMs = windowMs
  }

  /** One more at `nowMs`, of the monotonic clock. False: it is one too many. */
  take(nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= this.#windowMs) {
      this.#sinceMs = nowMs
      this.#count = 0
    }
    this.#count += 1
    return this.#count <= this.#frames
  }
}
