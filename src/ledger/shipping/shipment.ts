import type { SequenceRange } from '../../domain/sequence-range.ts'

/** The progress of one producer's shipping. All are sequences; 0: none yet. */
export interface ShippingState {
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
