/** With one sample a second, an hour at full detail; the age of a longer backlog is exact to a thousandth. */
const MAX_SAMPLES = 4_096

interface Sample {
  readonly atMs: number
  /** Records at or under it, and above the sample before, were closed at `atMs` or after. */
  last: number
}

/** How long the oldest record that is not committed has been waiting, from samples of the highest sequence. */
export class BacklogAge {
  #samples: Sample[] = []
  #sampledAtMs: number
  #strideMs = 0

  constructor(nowMs: number) {
    this.#sampledAtMs = nowMs
  }

  /** @param last the highest sequence at `nowMs`; called about once a second. */
  sample(nowMs: number, last: number, committedOffset: number): void {
    this.#samples = this.#samples.filter((sample) => sample.last > committedOffset)
    const newest = this.#samples.at(-1)
    if (newest === undefined) this.#strideMs = 0
    if (newest !== undefined && this.#sampledAtMs - newest.atMs < this.#strideMs) newest.last = last
    else if (last > (newest?.last ?? committedOffset)) this.#samples.push({ atMs: this.#sampledAtMs, last })
    if (this.#samples.length > MAX_SAMPLES) this.#thin(nowMs)
    this.#sampledAtMs = nowMs
  }

  /** Milliseconds, too high by at most the distance of two samples; 0: everything is committed. */
  ageMs(nowMs: number, committedOffset: number): number {
    const oldest = this.#samples.find((sample) => sample.last > committedOffset)
    return oldest === undefined ? 0 : nowMs - oldest.atMs
  }

  /** Merges every two samples into one; the next ones are as far apart. */
  #thin(nowMs: number): void {
    const thinned: Sample[] = []
    for (const [index, sample] of this.#samples.entries()) {
      const newest = thinned.at(-1)
      if (index % 2 === 1 && newest !== undefined) newest.last = sample.last
      else thinned.push(sample)
    }
    this.#samples = thinned
    this.#strideMs = (nowMs - (thinned[0]?.atMs ?? nowMs)) / thinned.length
  }
}
