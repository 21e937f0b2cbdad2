import { serialiseGapMarker } from '../../call/record-codec.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { StreamLink } from '../shipping/redis-link.ts'
import type { SentEntry } from '../shipping/sent-ids.ts'
import { isDatabaseMismatch } from './journal-database-id.ts'
import { readJournalDirectory } from './producer-folder.ts'
import { type RetiredProducer, RetiredProducers } from './retired-producers.ts'

const READ_LIMIT_MS = 5_000
/** Producers whose marks are asked for at once. */
const BATCH = 1_000

export interface RetiredProducerCheckOptions {
  readonly journalDir: string
  readonly link: Pick<StreamLink, 'connected' | 'append' | 'areThere'>
  readonly readCommittedOffsets: (producers: readonly string[]) => Promise<ReadonlyMap<string, number>>
  readonly registerStream: (stream: string) => Promise<void>
  readonly log: Logger
}

/**
 * Looks whether Postgres went back behind producers whose folders are gone: nothing has those records any more, so
 * they are said to be void, as a journal would that no longer has them. Any number of gateways may do it at once:
 * the mark moves with the first void, and the others are dropped.
 */
export class RetiredProducerCheck {
  readonly #options: RetiredProducerCheckOptions
  readonly #retiredProducers: RetiredProducers
  /** Voids that were sent and not counted yet, and the mark they were sent for. */
  readonly #sent = new Map<string, { readonly committedOffset: number; readonly entry: SentEntry }>()

  constructor(options: RetiredProducerCheckOptions) {
    this.#options = options
    this.#retiredProducers = new RetiredProducers(options.journalDir)
  }

  /**
   * Rejects when Postgres is away. What Redis does not take is sent by a later look.
   *
   * @param database the identity of the one that is asked; `null`: not known.
   */
  async check(database: string | null): Promise<void> {
    const { journalDir, readCommittedOffsets, link } = this.#options
    const present = new Set(readJournalDirectory(journalDir).producers)
    const all = await this.#retiredProducers.list(present, Date.now())
    const ours = all.filter((retired) => !isDatabaseMismatch(retired.database, database))
    for (let at = 0; at < ours.length; at += BATCH) {
      const batch = ours.slice(at, at + BATCH)
      const committedOffsets = await withinDeadline(
        readCommittedOffsets(batch.map(({ producer }) => producer)),
        READ_LIMIT_MS,
      )
      for (const retired of batch) {
        const committedOffset = committedOffsets.get(retired.producer) ?? 0
        if (committedOffset >= retired.last) this.#sent.delete(retired.producer)
        else if (link.connected && !(await this.#isUnderWay(retired, committedOffset)))
          await this.#name(retired, committedOffset)
      }
    }
  }

  /** Whether what we said for this mark still waits to be counted. Redis not saying so: we need not say it again. */
  async #isUnderWay({ producer, stream }: RetiredProducer, committedOffset: number): Promise<boolean> {
    const sent = this.#sent.get(producer)
    if (sent?.committedOffset !== committedOffset) return false
    try {
      return (await this.#options.link.areThere(stream, producer, [sent.entry]))[0] ?? true
    } catch {
      return true
    }
  }

  async #name({ producer, stream, last }: RetiredProducer, committedOffset: number): Promise<void> {
    const { link, registerStream, log } = this.#options
    const from = committedOffset + 1
    log.error(
      { producer, from, to: last },
      'Postgres went back behind a journal that is gone; its records are lost',
    )
    await withinDeadline(registerStream(stream), READ_LIMIT_MS)
    try {
      const body = serialiseGapMarker(from, last, 'journal_pruned')
      const [id] = await link.append(stream, producer, [{ sequence: last, body }])
      if (id !== undefined) this.#sent.set(producer, { committedOffset, entry: { sequence: last, id } })
    } catch {
      // The link says so and comes back; the next look says it again, once or twice makes no difference.
    }
  }
}
