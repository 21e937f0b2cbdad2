import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { Journal } from '../journal/journal.ts'
import { SentIds } from './sent-ids.ts'

/** The outcome of a reading of the committed offset. `regressed`: Postgres was restored to an earlier state. */
export type OffsetChange = 'unchanged' | 'advanced' | 'regressed'

/** The progress of one producer's shipping. All are sequences; 0: none yet. */
interface ShippingState {
  /** The highest record the journal has deleted. */
  readonly prunedTo: number
  /** The highest record that survives power loss here: nothing above it may be shipped. */
  readonly synced: number
  /**
   * Redis has acknowledged every record up to here since entries were last found lost. Never below `committedOffset`.
   */
  readonly sent: number
  /** As read last from Postgres: every record at or under it is in the totals. */
  readonly committedOffset: number
  /** The committed offset as workers hint it in Redis: used for the window's size and nothing else. */
  readonly hintedOffset: number
}

/**
 * The next batch for the stream. `window`: too much is uncommitted, of this producer or of all on the stream; the
 * committed offset must move first.
 */
export type Shipment =
  | { readonly kind: 'records'; readonly after: number; readonly maxRows: number }
  | { readonly kind: 'gap'; readonly from: number; readonly to: number }
  | { readonly kind: 'window' }
  | { readonly kind: 'nothing' }

/** At most so many records of a producer, and bytes of bodies, are on the stream and not committed. */
export const SHIP_WINDOW_ENTRIES = 20_000
export const SHIP_WINDOW_BYTES = 16 * 1024 * 1024

/**
 * Plans what to ship next, at most `batchRows` records.
 *
 * @param uncommittedBytes of the bodies after the committed offset (or its hint) up to `sent`.
 * @param isCrowded Whether the stream has enough of all producers together: then one batch is under way at a time.
 */
export function nextShipment(
  state: ShippingState,
  uncommittedBytes: number,
  batchRows: number,
  isCrowded = false,
): Shipment {
  const { prunedTo, synced, sent, committedOffset, hintedOffset } = state
  // Postgres was restored to before what the journal has deleted. Without a gap marker the producer would stall.
  if (sent < prunedTo) return { kind: 'gap', from: sent + 1, to: prunedTo }
  if (sent >= synced) return { kind: 'nothing' }
  const committed = Math.min(Math.max(committedOffset, hintedOffset), sent)
  if (isCrowded && sent > committed) return { kind: 'window' }
  const room = SHIP_WINDOW_ENTRIES - (sent - committed)
  if (room <= 0 || (uncommittedBytes >= SHIP_WINDOW_BYTES && sent > committed)) return { kind: 'window' }
  return { kind: 'records', after: sent, maxRows: Math.min(room, batchRows, synced - sent) }
}

/**
 * `sent` after the committed offset was read. Records at or under it need no sending. Where it is lower than before,
 * Postgres was restored to an earlier state, and everything after it must be sent again.
 */
export function sentAfterCommit(sent: number, committedBefore: number, committedOffset: number): number {
  return committedOffset < committedBefore ? committedOffset : Math.max(sent, committedOffset)
}

/**
 * The gap between `sequence` and the journal's next record, to be shipped as a gap marker; `null`: the next record
 * follows at once.
 */
export function gapBefore(nextInJournal: number, sequence: number): SequenceRange | null {
  return nextInJournal > sequence + 1 ? { from: sequence + 1, to: nextInJournal - 1 } : null
}

/**
 * How far the records of one producer have come: onto its stream, and into Postgres. The one owner of these offsets:
 * shipping, loss detection and retention read them here and move them here.
 */
export class ShippingProgress {
  /** Places on the stream of the records that were sent and are not committed. */
  readonly sentIds = new SentIds()
  readonly #journal: Pick<Journal, 'prunedTo' | 'synced' | 'bytesTotalAt'>
  #committed: number
  #hinted = 0
  #sent: number
  /** Bytes of all bodies up to `sent`, up to `committed`, and up to `committed` or its hint. */
  #sentBytes: number
  #committedBytes: number
  #windowStartBytes: number
  #rewindTo: number | null = null

  /** @param committed the offset in Postgres when this begins; 0 for a new producer. */
  constructor(journal: Pick<Journal, 'prunedTo' | 'synced' | 'bytesTotalAt'>, committedOffset: number) {
    this.#journal = journal
    this.#committed = committedOffset
    this.#sent = committedOffset
    this.#committedBytes = journal.bytesTotalAt(committedOffset)
    this.#windowStartBytes = this.#committedBytes
    this.#sentBytes = this.#committedBytes
  }

  /** The committed offset as read last from Postgres. */
  get committedOffset(): number {
    return this.#committed
  }

  /** The highest sequence that Redis has acknowledged, since entries were last found lost. */
  get sent(): number {
    return this.#sent
  }

  /** Bytes of all bodies up to the committed offset. */
  get committedBytes(): number {
    return this.#committedBytes
  }

  /** Bytes of the bodies that are on the stream and, by offset or hint, not committed. */
  get windowBytes(): number {
    return this.#sentBytes - this.#windowStartBytes
  }

  /** All that the choice of the next shipment depends on. */
  offsets(): ShippingState {
    const { prunedTo, synced } = this.#journal
    return {
      prunedTo,
      synced,
      sent: this.#sent,
      committedOffset: this.#committed,
      hintedOffset: this.#hinted,
    }
  }

  /** A committed offset was read from Postgres. */
  setCommittedOffset(committedOffset: number): OffsetChange {
    const before = this.#committed
    if (committedOffset === before) return 'unchanged'
    this.#committed = committedOffset
    if (committedOffset < before) this.sendAgainFrom(committedOffset)
    else this.sentIds.dropThrough(committedOffset)
    if (this.#rewindTo === null) this.#moveSent(sentAfterCommit(this.#sent, before, committedOffset))
    this.#measureWindow()
    return committedOffset < before ? 'regressed' : 'advanced'
  }

  /** A worker's hint of the committed offset; it decides only how much may be on the stream. */
  setHint(committedOffset: number): void {
    if (committedOffset <= this.#hinted || committedOffset > this.#sent) return
    this.#hinted = committedOffset
    this.#measureWindow()
  }

  /** Redis acknowledged an entry. True: it is a new one, not one that was sent again. */
  addSent(sequence: number, bytesTotal: number, id: string): boolean {
    this.sentIds.add(sequence, id)
    if (sequence <= this.#sent) return false
    this.#sent = sequence
    this.#sentBytes = bytesTotal
    return true
  }

  /** Everything after `sequence` must be sent again. It takes effect with `rewind`: a batch may be under way. */
  sendAgainFrom(sequence: number): void {
    this.#rewindTo = Math.min(this.#rewindTo ?? sequence, sequence)
  }

  /** Between two batches: begins again where `sendAgainFrom` asked, if it did. */
  rewind(): void {
    if (this.#rewindTo === null) return
    this.#moveSent(Math.max(this.#rewindTo, this.#committed))
    this.#rewindTo = null
    this.#hinted = 0
    this.sentIds.clear()
    this.#measureWindow()
  }

  #moveSent(sequence: number): void {
    this.#sent = sequence
    this.#sentBytes = this.#journal.bytesTotalAt(sequence)
  }

  #measureWindow(): void {
    this.#committedBytes = this.#journal.bytesTotalAt(this.#committed)
    const start = Math.min(Math.max(this.#committed, this.#hinted), this.#sent)
    this.#windowStartBytes = this.#journal.bytesTotalAt(start)
  }
}
