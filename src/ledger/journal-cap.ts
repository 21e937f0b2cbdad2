import type { Logger } from '../lib/logger.ts'
import type { Producers } from './shipping/producers.ts'

/** Below this part of the cap the journal counts as recovered, so that one at the cap does not log every second. */
const RECOVERED_BELOW = 0.9

/** Logs when uncommitted records reach JOURNAL_MAX_BYTES, so that no new call is recorded, and when that is over. */
export class JournalCap {
  readonly #producers: Pick<Producers, 'uncommittedBytes'>
  readonly #maxBytes: number
  readonly #log: Logger
  #isFull = false

  constructor(producers: Pick<Producers, 'uncommittedBytes'>, maxBytes: number, log: Logger) {
    this.#producers = producers
    this.#maxBytes = maxBytes
    this.#log = log
  }

  /** To be called about once a second. */
  check(): void {
    const { uncommittedBytes } = this.#producers
    const maxBytes = this.#maxBytes
    if (!this.#isFull && uncommittedBytes >= maxBytes) {
      this.#isFull = true
      this.#log.error(
        { event: 'journal.full', uncommittedBytes, maxBytes },
        'uncommitted records have reached JOURNAL_MAX_BYTES: the journal takes no new calls',
      )
    } else if (this.#isFull && uncommittedBytes < maxBytes * RECOVERED_BELOW) {
      this.#isFull = false
      this.#log.info(
        { event: 'journal.recovered', uncommittedBytes, maxBytes },
        'uncommitted records are below JOURNAL_MAX_BYTES again',
      )
    }
  }
}
