import { nextCheckInMs, provenLoss, sequencesToCheck } from './loss-detection.ts'
import type { StreamLink } from './redis-link.ts'
import type { SentIds } from './sent-ids.ts'

export interface LossWatchOptions {
  readonly producer: string
  readonly stream: string
  readonly link: StreamLink
  readonly ids: SentIds
  /** Reads the producer's mark from Postgres, after the call. */
  readonly readMark: () => Promise<number>
  /** The highest sequence that Redis acknowledged. */
  readonly sent: () => number
  /** Proven: everything after `from` is to be sent again. */
  readonly onLoss: (from: number) => void
  /** A look has ended, whatever it found. */
  readonly onLooked: () => void
  readonly now: () => number
}

/** Looks, when there is reason to, whether what was sent and not committed is still on the stream. */
export class LossWatch {
  readonly #options: LossWatchOptions
  #looking = false
  #atMs = Number.POSITIVE_INFINITY
  #fruitless = 0

  constructor(options: LossWatchOptions) {
    this.#options = options
  }

  /** Milliseconds until a look is due; infinite: none is, or one is under way. */
  get dueInMs(): number {
    return this.#looking ? Number.POSITIVE_INFINITY : this.#atMs - this.#options.now()
  }

  /** Something was sent. */
  sent(): void {
    if (this.#atMs === Number.POSITIVE_INFINITY) this.#atMs = this.#options.now() + nextCheckInMs(0)
  }

  /** The mark moved: what is on the stream is being counted. */
  progressed(): void {
    this.#fruitless = 0
    if (this.#atMs !== Number.POSITIVE_INFINITY) this.#atMs = this.#options.now() + nextCheckInMs(0)
  }

  /** Everything sent is committed. */
  rest(): void {
    this.#atMs = Number.POSITIVE_INFINITY
  }

  /** Redis was away, and may have forgotten. */
  suspect(): void {
    this.#atMs = this.#options.now()
  }

  /** Begins a look when one is due. */
  consider(): void {
    if (this.dueInMs > 0) return
    this.#looking = true
    void this.#look()
      .catch(() => {}) // Redis or Postgres is away: that proves nothing.
      .finally(() => {
        this.#looking = false
        this.#atMs = this.#options.now() + nextCheckInMs(this.#fruitless)
        this.#options.onLooked()
      })
  }

  async #look(): Promise<void> {
    const { link, producer, stream, ids, readMark, sent, onLoss } = this.#options
    const sequences = sequencesToCheck(await readMark(), sent())
    const known = sequences.flatMap((sequence) => {
      const entry = ids.find(sequence)
      return entry === null ? [] : [{ sequence, entry }]
    })
    if (known.length === 0) return
    const present = await link.areThere(
      stream,
      producer,
      known.map(({ entry }) => entry),
    )
    const sightings = known.map(({ sequence }, index) => ({ sequence, present: present[index] ?? true }))
    if (sightings.every((sighting) => sighting.present)) return
    const from = provenLoss(sightings, await readMark())
    if (from === null) return
    this.#fruitless++
    onLoss(from)
  }
}
