/** A committed offset as read from Postgres, at a time of the monotonic clock. */
export interface OffsetReading {
  readonly atMs: number
  readonly committedOffset: number
}

/** So many readings give the age of an offset to a sixteenth of the keep time. */
export const READINGS = 16

/**
 * `history`, oldest first, with one more reading. A reading lower than an earlier one means that Postgres was restored,
 * and how far is not known: it may have moved forward again already. The keep time then starts again for everything.
 */
export function withReading(
  history: readonly OffsetReading[],
  reading: OffsetReading,
  keepMs: number,
): readonly OffsetReading[] {
  if (history.some(({ committedOffset }) => committedOffset > reading.committedOffset)) return [reading]
  const oldEnough = history.findLastIndex(({ atMs }) => atMs <= reading.atMs - keepMs)
  const needed = history.slice(Math.max(oldEnough, 0))
  const newest = needed.at(-1)
  if (newest !== undefined && reading.atMs - newest.atMs < keepMs / READINGS) return needed
  return [...needed, reading]
}

/**
 * The highest record that may be deleted: at or under every offset read in the last `keepMs`, and under one read
 * before that. 0: none.
 *
 * @param latest the newest reading, whether or not it is in `history`.
 */
export function prunableUpTo(
  history: readonly OffsetReading[],
  latest: OffsetReading,
  keepMs: number,
): number {
  const old = history.findLast(({ atMs }) => atMs <= latest.atMs - keepMs)
  return old === undefined ? 0 : Math.min(old.committedOffset, latest.committedOffset)
}

/**
 * Up to where everything is in the totals, as far as this journal can still help: under the first recorded gap that it
 * has records of. Those are sent again, and what fills a gap must then be kept like the rest.
 *
 * @param held gaps that the journal has records of, read after the committed offset.
 */
export function countedTo(committedOffset: number, held: readonly { readonly from: number }[]): number {
  return Math.min(committedOffset, ...held.map(({ from }) => from - 1))
}
