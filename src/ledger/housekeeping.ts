import type { Logger } from '../lib/logger.ts'
import { repeat } from '../lib/repeat.ts'
import type { Adoption } from './recovery/adoption.ts'
import type { DatabaseBinding } from './recovery/journal-database-id.ts'
import type { RetiredProducerCheck } from './recovery/retired-producers.ts'
import type { Producers } from './shipping/producers.ts'

/** How often committed offsets are read while something is not committed. */
const OFFSETS_INTERVAL_MS = 1_000
/** By a clock of its own: a read of offsets may take long. */
const SAMPLE_INTERVAL_MS = 1_000
const ADOPTION_INTERVAL_MS = 5_000
const PRUNE_INTERVAL_MAX_MS = 30_000
const PRUNE_INTERVAL_MIN_MS = 100

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

export interface HousekeepingOptions {
  readonly producers: Producers
  readonly adoption: Adoption
  readonly binding: DatabaseBinding
  readonly retired: RetiredProducerCheck
  readonly cap: JournalCap
  /** The folders of this process's own producers. */
  readonly ownFolders: readonly string[]
  /** How long committed records are kept. */
  readonly keepMs: number
  readonly log: Logger
}

/**
 * The ledger does this again and again beside calls and shipping: read committed offsets, adopt, delete what was kept
 * long enough. Postgres may stop answering at any time: then everything waits for it, and one log line says so.
 */
export class Housekeeping {
  readonly #options: HousekeepingOptions
  readonly #repeating: readonly { stop(): Promise<void> }[]
  #turn: Promise<void> = Promise.resolve()
  #isPostgresAway = false
  #hasCheckFailed = false
  #stopped = false

  constructor(options: HousekeepingOptions) {
    this.#options = options
    const { keepMs } = options
    const pruneMs = Math.max(Math.min(keepMs / 10, PRUNE_INTERVAL_MAX_MS), PRUNE_INTERVAL_MIN_MS)
    this.#repeating = [
      repeat(async () => options.producers.sampleBacklogs(), SAMPLE_INTERVAL_MS),
      repeat(() => this.#readOffsets(), OFFSETS_INTERVAL_MS),
      repeat(() => this.#inTurn(() => this.#adopt()), ADOPTION_INTERVAL_MS),
      repeat(() => this.#inTurn(() => this.#prune()), pruneMs),
    ]
  }

  /** Begins nothing new; resolves when what is under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#options.adoption.stopScanning()
    await Promise.all(this.#repeating.map((task) => task.stop()))
  }

  /** After what was begun before: both of these tasks close journals. */
  async #inTurn(task: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(() => (this.#stopped ? undefined : task()))
    this.#turn = turn.catch(() => {})
    await turn
  }

  async #readOffsets(): Promise<void> {
    const { cap, producers } = this.#options
    cap.check()
    await this.#withPostgres(() => producers.readOffsets())
  }

  async #adopt(): Promise<void> {
    try {
      await this.#options.adoption.scan()
    } catch (error) {
      this.#options.log.error(
        { event: 'journal.directory_unreadable', err: error },
        'the journal directory cannot be read',
      )
    }
  }

  async #prune(): Promise<void> {
    const { producers, adoption } = this.#options
    await this.#withPostgres(() => producers.prune())
    await adoption.releaseEmpty()
    await this.#checkRetired()
  }

  /** Nothing else depends on it, so neither a full disk nor a silent Postgres may stop the rest. */
  async #checkRetired(): Promise<void> {
    const { binding, adoption, ownFolders, retired, log } = this.#options
    try {
      const databaseId = await binding.bind(() => [
        ...ownFolders,
        ...adoption.folders.map(({ path }) => path),
      ])
      await retired.check(databaseId)
      this.#hasCheckFailed = false
    } catch (error) {
      if (!this.#hasCheckFailed && !this.#isPostgresAway && !this.#stopped)
        log.warn(
          { event: 'ledger.retired_check_failed', err: error },
          'producers whose journals are gone cannot be checked against Postgres; it is tried again',
        )
      this.#hasCheckFailed = true
    }
  }

  async #withPostgres(task: () => Promise<void>): Promise<void> {
    const { log } = this.#options
    try {
      await task()
      if (this.#isPostgresAway) log.info({ event: 'postgres.back' }, 'Postgres answers again')
      this.#isPostgresAway = false
    } catch (error) {
      if (this.#stopped) return
      if (!this.#isPostgresAway)
        log.warn(
          { event: 'postgres.away', err: error },
          'Postgres does not answer; records wait in the journal',
        )
      this.#isPostgresAway = true
    }
  }
}
