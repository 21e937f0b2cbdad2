import { serialiseGapMarker } from '../../call/codec/record-codec.ts'
import type { Logger } from '../../lib/logger.ts'
import type { LedgerDatabase } from '../ledger-database.ts'
import type { SentEntry } from '../shipping/sent-ids.ts'
import type { StreamLink } from '../shipping/stream/stream-link.ts'
import { isDatabaseMismatch } from './journal-database-id.ts'
import { readJournalDirectory } from './producer-folder.ts'
import { type RetiredProducer, RetiredProducers } from './retired-producers.ts'

/** Producers whose committed offsets are asked for at once. */
const BATCH = 1_000

export interface RetiredProducerCheckOptions {
  readonly journalDir: string
  readonly link: Pick<StreamLink, 'connected' | 'append' | 'areThere'>
  readonly database: Pick<LedgerDatabase, 'readCommittedOffsets' | 'registerStream'>
  readonly log: Logger
}

/**
 * Finds retired producers whose committed offset in Postgres is lower than their final one: Postgres was restored to an
 * earlier state. Their records exist nowhere any more, so they are recorded as gaps, as a journal does for deleted
 * records. Any number of gateways may do it at once: the first gap marker moves the offset, the others are dropped.
 */
export class RetiredProducerCheck {
  readonly #options: RetiredProducerCheckOptions
  readonly #retired: RetiredProducers
  /** Gap markers that were sent and are not counted yet, and the committed offset they were sent for. */
  readonly #sent = new Map<string, { readonly committedOffset: number; readonly entry: SentEntry }>()

  constructor(options: RetiredProducerCheckOptions) {
    this.#options = options
    this.#retired = new RetiredProducers(options.journalDir)
  }

  /**
   * Rejects when Postgres does not answer. What Redis does not take is sent by a later check.
   *
   * @param databaseId of the database that is asked; `null`: not known.
   */
  async check(databaseId: string | null): Promise<void> {
    const { journalDir, database, link } = this.#options
    const present = new Set(readJournalDirectory(journalDir).producers)
    const all = await this.#retired.list(present, Date.now())
    const ours = all.filter((retired) => !isDatabaseMismatch(retired.database, databaseId))
    for (let at = 0; at < ours.length; at += BATCH) {
      const batch = ours.slice(at, at + BATCH)
      const offsets = await database.readCommittedOffsets(batch.map(({ producer }) => producer))
      for (const retired of batch) {
        const committedOffset = offsets.get(retired.producer) ?? 0
        if (committedOffset >= retired.last) this.#sent.delete(retired.producer)
        else if (link.connected && !(await this.#isUnderWay(retired, committedOffset)))
          await this.#shipGap(retired, committedOffset)
      }
    }
  }

  /**
   * Tells whether the gap marker sent for this offset still waits to be counted. While Redis is silent it need not be
   * sent.
   */
  async #isUnderWay({ producer, stream }: RetiredProducer, committedOffset: number): Promise<boolean> {
    const sent = this.#sent.get(producer)
    if (sent?.committedOffset !== committedOffset) return false
    try {
      return (await this.#options.link.areThere(stream, producer, [sent.entry]))[0] ?? true
    } catch {
      return true
    }
  }

  async #shipGap({ producer, stream, last }: RetiredProducer, committedOffset: number): Promise<void> {
    const { link, database, log } = this.#options
    const from = committedOffset + 1
    log.error(
      { event: 'ledger.regressed_too_far', producer, from, to: last },
      'Postgres was restored behind a journal that is gone; its records are lost',
    )
    await database.registerStream(stream)
    try {
      const body = serialiseGapMarker(from, last, 'journal_pruned')
      const [id] = await link.append(stream, producer, [{ sequence: last, body }])
      if (id !== undefined) this.#sent.set(producer, { committedOffset, entry: { sequence: last, id } })
    } catch {
      // The link logs it and connects again. The next check sends it again; twice does no harm.
    }
  }
}
