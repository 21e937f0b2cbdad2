import { nextCheckInMs, provenLoss, sequencesToCheck } from './loss-detection.ts'
import type { StreamLink } from './redis-link.ts'
import type { SentIds } from './sent-ids.ts'

export interface LossDetectorOptions {
  readonly producer: string
  readonly stream: string
  readonly link: StreamLink
  readonly ids: SentIds
  /** Reads the producer's mark from Postgres, after the call. */
  readonly readCommittedOffset: () => Promise<number>
  /** The highest sequence that Redis acknowledged. */
  readonly sent: () => number
  /** Proven: everything after `from` is to be sent again. */
  readonly onLoss: (from: number) => void
  /** A look has ended, whatever it found. */
  readonly onChecked: () => void
  readonly now: () => number
}

/** Looks, when there is reason to, whether what was sent and not committed is still on the stream. */
export class LossDetector {
  readonly #options: LossDetectorOptions
  #checking = false
  #atMs = Number.POSITIVE_INFINITY
  #attempts = 0

  constructor(options: LossDetectorOptions) {
    this.#options = options
  }

  /** Milliseconds until a look is due; infinite: none is, or one is under way. */
  get dueInMs(): number {
    return this.#checking ? Number.POSITIVE_INFINITY : this.#atMs - this.#options.now()
  }

  /** Something was sent. */
  sent(): void {
    if (this.#atMs === Number.POSITIVE_INFINITY) this.#atMs = this.#options.now() + nextCheckInMs(0)
  }

  /** The mark moved: what is on the stream is being counted. */
  progressed(): void {
    this.#attempts = 0
    if (this.#atMs !== Number.POSITIVE_INFINITY) this.#atMs = this.#options.now() + nextCheckInMs(0)
  }

  /** Everything sent is committed. */
  reset(): void {
    this.#atMs = Number.POSITIVE_INFINITY
  }

  /** Redis was away, and may have forgotten. */
  checkSoon(): void {
    this.#atMs = this.#options.now()
  }

  /** Begins a look when one is due. */
  check(): void {
    if (this.dueInMs > 0) return
    this.#checking = true
    void this.#check()
      .catch(() => {}) // Redis or Postgres is away: that proves nothing.
      .finally(() => {
        this.#checking = false
        this.#atMs = this.#options.now() + nextCheckInMs(this.#attempts)
        this.#options.onChecked()
      })
  }

  async #check(): Promise<void> {
    const { link, producer, stream, ids, readCommittedOffset, sent, onLoss } = this.#options
    const sequences = sequencesToCheck(await readCommittedOffset(), sent())
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
    const from = provenLoss(sightings, await readCommittedOffset())
    if (from === null) return
    this.#attempts++
    onLoss(from)
  }
}
