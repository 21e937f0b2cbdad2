/** With one sample a second, an hour at full detail; a longer backlog is told to some seconds. */
const MAX_SAMPLES = 4_096

interface Sample {
  readonly atMs: number
  readonly last: number
}

/** How long the oldest record that is not committed has been waiting, from samples of the highest sequence. */
export class BacklogAge {
  #samples: Sample[] = []
  #sampledAtMs: number

  constructor(nowMs: number) {
    this.#sampledAtMs = nowMs
  }

  /** @param last the highest sequence at `nowMs`; called about once a second. */
  sample(nowMs: number, last: number, mark: number): void {
    this.#samples = this.#samples.filter((sample) => sample.last > mark)
    if (last > (this.#samples.at(-1)?.last ?? mark)) this.#samples.push({ atMs: this.#sampledAtMs, last })
    if (this.#samples.length > MAX_SAMPLES)
      this.#samples = this.#samples.filter((_, index) => index % 2 === 0)
    this.#sampledAtMs = nowMs
  }

  /** Milliseconds, at most a sample's distance too many; 0: everything is committed. */
  ageMs(nowMs: number, mark: number): number {
    const oldest = this.#samples.find((sample) => sample.last > mark)
    return oldest === undefined ? 0 : nowMs - oldest.atMs
  }
}
