/** A mark as read from Postgres, at a time of the monotonic clock. */
export interface OffsetReading {
  readonly atMs: number
  readonly committedOffset: number
}

/** So many readings tell the age of a mark to a sixteenth of the keeping time. */
export const READINGS = 16

/**
 * `history`, oldest first, with one more reading. One that is lower than any before means that Postgres went back,
 * nobody knows how far: it may be on its way forward again. Everything is then to be kept for the whole time anew.
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
 * The highest record that may be deleted: at or under every mark read in the last `keepMs`, and under one read
 * before that. 0: none.
 *
 * @param latest the reading made last, whether or not it is in `history`.
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
 * Up to where everything is in the totals, as far as this journal can still help: under the first recorded hole
 * that it has records of. Those are wanted again, and what has filled a hole must then be kept like the rest.
 *
 * @param held holes that the journal has records of, read after the mark.
 */
export function countedTo(committedOffset: number, held: readonly { readonly from: number }[]): number {
  return Math.min(committedOffset, ...held.map(({ from }) => from - 1))
}
