import { serialiseVoid } from '../../call/record-codec.ts'
import { withinDeadline } from '../../lib/deadline.ts'
import type { Logger } from '../../lib/logger.ts'
import type { StreamLink } from '../shipping/redis-link.ts'
import type { SentEntry } from '../shipping/sent-ids.ts'
import { isForeign } from './bound-database.ts'
import { readJournalDirectory } from './producer-folder.ts'
import { type Tombstone, Tombstones } from './retired-producers.ts'

const READ_LIMIT_MS = 5_000
/** Producers whose marks are asked for at once. */
const BATCH = 1_000

export interface TombstoneWatchOptions {
  readonly journalDir: string
  readonly link: Pick<StreamLink, 'connected' | 'append' | 'areThere'>
  readonly readMarks: (producers: readonly string[]) => Promise<ReadonlyMap<string, number>>
  readonly registerStream: (stream: string) => Promise<void>
  readonly log: Logger
}

/**
 * Looks whether Postgres went back behind producers whose folders are gone: nothing has those records any more, so
 * they are said to be void, as a journal would that no longer has them. Any number of gateways may do it at once:
 * the mark moves with the first void, and the others are dropped.
 */
export class TombstoneWatch {
  readonly #options: TombstoneWatchOptions
  readonly #tombstones: Tombstones
  /** Voids that were sent and not counted yet, and the mark they were sent for. */
  readonly #sent = new Map<string, { readonly mark: number; readonly entry: SentEntry }>()

  constructor(options: TombstoneWatchOptions) {
    this.#options = options
    this.#tombstones = new Tombstones(options.journalDir)
  }

  /**
   * Rejects when Postgres is away. What Redis does not take is sent by a later look.
   *
   * @param database the identity of the one that is asked; `null`: not known.
   */
  async look(database: string | null): Promise<void> {
    const { journalDir, readMarks, link } = this.#options
    const present = new Set(readJournalDirectory(journalDir).producers)
    const all = await this.#tombstones.list(present, Date.now())
    const ours = all.filter((tombstone) => !isForeign(tombstone.database, database))
    for (let at = 0; at < ours.length; at += BATCH) {
      const batch = ours.slice(at, at + BATCH)
      const marks = await withinDeadline(readMarks(batch.map(({ producer }) => producer)), READ_LIMIT_MS)
      for (const tombstone of batch) {
        const mark = marks.get(tombstone.producer) ?? 0
        if (mark >= tombstone.last) this.#sent.delete(tombstone.producer)
        else if (link.connected && !(await this.#isUnderWay(tombstone, mark)))
          await this.#name(tombstone, mark)
      }
    }
  }

  /** Whether what we said for this mark still waits to be counted. Redis not saying so: we need not say it again. */
  async #isUnderWay({ producer, stream }: Tombstone, mark: number): Promise<boolean> {
    const sent = this.#sent.get(producer)
    if (sent?.mark !== mark) return false
    try {
      return (await this.#options.link.areThere(stream, producer, [sent.entry]))[0] ?? true
    } catch {
      return true
    }
  }

  async #name({ producer, stream, last }: Tombstone, mark: number): Promise<void> {
    const { link, registerStream, log } = this.#options
    const from = mark + 1
    log.error(
      { producer, from, to: last },
      'Postgres went back behind a journal that is gone; its records are lost',
    )
    await withinDeadline(registerStream(stream), READ_LIMIT_MS)
    try {
      const body = serialiseVoid(from, last, 'journal_pruned')
      const [id] = await link.append(stream, producer, [{ sequence: last, body }])
      if (id !== undefined) this.#sent.set(producer, { mark, entry: { sequence: last, id } })
    } catch {
      // The link says so and comes back; the next look says it again, once or twice makes no difference.
    }
  }
}
