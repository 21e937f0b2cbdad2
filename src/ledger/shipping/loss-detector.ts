import type { Logger } from '../../lib/logger.ts'
import type { CommittedOffsetReader } from './committed-offset-reader.ts'
import type { ShippingProgress } from './shipping-progress.ts'
import type { StreamLink } from './stream/stream-link.ts'
import type { WakeSignal } from './wake-signal.ts'

export interface LossDetectorOptions {
  readonly producer: string
  readonly stream: string
  readonly progress: ShippingProgress
  readonly link: StreamLink
  readonly offsets: Pick<CommittedOffsetReader, 'read'>
  /** Woken when a check has ended, whatever it found. */
  readonly wake: WakeSignal
  readonly log: Logger
  readonly now: () => number
}

/** How often entries that are sent and not committed are checked. */
const CHECK_INTERVAL_MS = 1_000
const CHECK_INTERVAL_MAX_MS = 30_000

/** A sequence that was sent, and whether its entry is on the stream now. */
export interface Sighting {
  readonly sequence: number
  readonly present: boolean
}

/**
 * The sequences to check: the one that the roll-up waits for, and the newest.
 *
 * @param committedOffset read from Postgres just now.
 */
export function sequencesToCheck(committedOffset: number, sent: number): number[] {
  if (sent <= committedOffset) return []
  return sent === committedOffset + 1 ? [sent] : [committedOffset + 1, sent]
}

/**
 * The offset after which to send again; `null`: no loss is proven. An entry leaves the stream only after its commit. One
 * that is gone, and is above the committed offset read after it was found gone, is therefore lost.
 */
export function provenLoss(sightings: readonly Sighting[], committedReadAfter: number): number | null {
  const lost = sightings.some(({ sequence, present }) => !present && sequence > committedReadAfter)
  return lost ? committedReadAfter : null
}

/**
 * The time to the next check. When sending again moves no committed offset, something else is wrong, and sending more
 * would only fill the stream.
 *
 * @param attempts how many times in a row everything was sent again and nothing was committed.
 */
export function nextCheckInMs(attempts: number): number {
  return Math.min(CHECK_INTERVAL_MS * 2 ** Math.min(attempts, 10), CHECK_INTERVAL_MAX_MS)
}

/**
 * Checks from time to time whether what was sent and is not committed is still on the stream. What Redis has lost is
 * sent again.
 */
export class LossDetector {
  readonly #options: LossDetectorOptions
  #isChecking = false
  #dueAtMs = Number.POSITIVE_INFINITY
  /** How many times in a row everything was sent again and nothing was committed. */
  #attempts = 0

  constructor(options: LossDetectorOptions) {
    this.#options = options
  }

  /** Milliseconds until a check is due; infinite: none is, or one is under way. */
  get dueInMs(): number {
    return this.#isChecking ? Number.POSITIVE_INFINITY : this.#dueAtMs - this.#options.now()
  }

  /** Something was sent. */
  sent(): void {
    if (this.#dueAtMs === Number.POSITIVE_INFINITY) this.#dueAtMs = this.#options.now() + nextCheckInMs(0)
  }

  /** The committed offset moved: what is on the stream is being counted. */
  progressed(): void {
    this.#attempts = 0
    if (this.#dueAtMs !== Number.POSITIVE_INFINITY) this.#dueAtMs = this.#options.now() + nextCheckInMs(0)
  }

  /** Redis was unreachable, and may have lost data: the check is due at once. */
  suspect(): void {
    if (this.#options.progress.sent > this.#options.progress.committedOffset)
      this.#dueAtMs = this.#options.now()
  }

  /** Starts a check when one is due. Everything committed: none is due until something is sent. */
  check(): void {
    const { progress, link } = this.#options
    if (progress.sent <= progress.committedOffset) this.#dueAtMs = Number.POSITIVE_INFINITY
    else if (link.connected && this.dueInMs <= 0) this.#start()
  }

  #start(): void {
    this.#isChecking = true
    void this.#detect()
      .catch(() => {}) // Redis or Postgres is unreachable: that proves nothing.
      .finally(() => {
        this.#isChecking = false
        this.#dueAtMs = this.#options.now() + nextCheckInMs(this.#attempts)
        this.#options.wake.wake()
      })
  }

  async #detect(): Promise<void> {
    const { producer, stream, progress, link, offsets, log } = this.#options
    const sequences = sequencesToCheck(await offsets.read(producer), progress.sent)
    const known = sequences.flatMap((sequence) => {
      const entry = progress.sentIds.find(sequence)
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
    const from = provenLoss(sightings, await offsets.read(producer))
    if (from === null) return
    this.#attempts++
    log.warn(
      { event: 'ledger.redis_lost_entries', producer, stream, from, sent: progress.sent },
      'Redis lost entries; the journal sends them again',
    )
    progress.sendAgainFrom(from)
  }
}
