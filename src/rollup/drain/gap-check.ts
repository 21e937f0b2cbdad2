import type { SequenceRange } from '../../domain/sequence-range.ts'
import type { RolledUp } from '../rolled-up.ts'

/**
 * How long a producer's committed offset must have stood before a gap, in milliseconds of a monotonic clock.
 */
export const GAP_PATIENCE_MS = 600_000

/**
 * The entries of one producer that wait: the ranges of its entries in the stream, and the committed offset they wait
 * for.
 */
export interface Waiting {
  readonly committedOffset: number
  readonly entries: readonly SequenceRange[]
}

/**
 * Remembers since when producers' committed offsets have stood before a gap. Its clock is the process's own:
 * no step of another clock gives up on a producer, and a new process starts waiting from zero.
 */
export interface GapCheck {
  /**
   * Takes every whole reading of the stream.
   *
   * @returns By producer, the gaps that have stood for too long.
   */
  observe(
    stream: string,
    waiting: ReadonlyMap<string, Waiting>,
  ): ReadonlyMap<string, readonly SequenceRange[]>
}

export function createGapCheck(
  options: { readonly patienceMs?: number; readonly now?: () => number } = {},
): GapCheck {
  const { patienceMs = GAP_PATIENCE_MS, now = () => performance.now() } = options
  const standing = new Map<
    string,
    ReadonlyMap<string, { readonly committedOffset: number; readonly sinceMs: number }>
  >()

  return {
    observe(stream, waiting) {
      const before = standing.get(stream)
      const after = new Map<string, { readonly committedOffset: number; readonly sinceMs: number }>()
      const expired = new Map<string, SequenceRange[]>()
      for (const [producer, { committedOffset, entries }] of waiting) {
        const last = before?.get(producer)
        const stands = last?.committedOffset === committedOffset ? last : { committedOffset, sinceMs: now() }
        after.set(producer, stands)
        if (now() - stands.sinceMs >= patienceMs) expired.set(producer, gapsBetween(committedOffset, entries))
      }
      standing.set(stream, after)
      return expired
    },
  }
}

/** The ranges above the committed offset that no entry covers, up to the last entry. */
export function gapsBetween(committedOffset: number, entries: readonly SequenceRange[]): SequenceRange[] {
  const gaps: SequenceRange[] = []
  let covered = committedOffset
  for (const { from, to } of [...entries].sort((left, right) => left.from - right.from)) {
    if (from > covered + 1) gaps.push({ from: covered + 1, to: from - 1 })
    covered = Math.max(covered, to)
  }
  return gaps
}

/** The entries behind gaps that a reading from the stream's beginning has passed. */
export class WaitingEntries {
  readonly byProducer = new Map<
    string,
    { committedOffset: number; lowest: number; entries: SequenceRange[] }
  >()
  count = 0

  add({ waiting, committedOffsets }: RolledUp): void {
    for (const { producer, from, to } of waiting) {
      const known = this.byProducer.get(producer)
      if (known === undefined)
        this.byProducer.set(producer, { committedOffset: 0, lowest: from, entries: [{ from, to }] })
      else {
        known.lowest = Math.min(known.lowest, from)
        known.entries.push({ from, to })
      }
    }
    this.count += waiting.length
    for (const [producer, known] of this.byProducer)
      known.committedOffset = committedOffsets.get(producer) ?? known.committedOffset
  }

  /**
   * Tells whether a committed offset has reached entries that were passed: they can be counted now, or are
   * duplicates.
   */
  canAdvance(): boolean {
    return this.byProducer.values().some(({ committedOffset, lowest }) => lowest <= committedOffset + 1)
  }

  /** Tells whether entries wait behind one of these gaps. */
  isBehind(overdueGaps: ReadonlyMap<string, readonly SequenceRange[]>): boolean {
    return this.byProducer
      .entries()
      .some(
        ([producer, { committedOffset }]) =>
          overdueGaps.get(producer)?.some(({ from }) => from === committedOffset + 1) ?? false,
      )
  }

  clear(): void {
    this.byProducer.clear()
    this.count = 0
  }
}
