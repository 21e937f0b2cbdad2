import type { SequenceRange } from '../domain/sequence-range.ts'

/**
 * Which entries of one producer may be counted: docs/ledger.md, section 5, step 4, and section 7. Pure, so that
 * a model of the ledger can drive it.
 */

/** Sequences that were passed over and have not come since; both ends included. */
export interface Gap extends SequenceRange {
  /** The row in `ledger_gaps`; `null` while it is only in this transaction. */
  readonly id: string | null
  readonly reason: string
  /** When the gap was recorded; `null`: now. */
  readonly recordedAt: Date | null
}

/**
 * An entry as far as its number goes: a record stands for `from` = `to`, a gap marker for all of
 * `from`..`to`.
 */
export interface Numbered extends SequenceRange {
  /** The reason of a gap marker; `null` for a record. */
  readonly gapReason: string | null
}

export interface ProducerState {
  /** Every sequence at or under it is counted or in a gap. */
  readonly committedOffset: number
  /** Needed only for entries at or under the committed offset. */
  readonly gaps: readonly Gap[]
}

export interface Decision<T extends Numbered> {
  readonly committedOffset: number
  /** Records to count now, in order. */
  readonly counted: readonly T[]
  /** Entries behind a gap, in order: they stay in the stream. Every other entry has been dealt with. */
  readonly waiting: readonly T[]
  /** Rows of `ledger_gaps` that no longer hold. */
  readonly replacedGaps: readonly string[]
  /** Rows to put in their place: gaps that remain or are new, and ranges that were filled now. */
  readonly newGaps: readonly (Gap & { readonly filled: boolean })[]
}

/** The reason of a gap whose producer is gone. */
export const PRODUCER_LOST = 'producer_lost'

/**
 * Decides over the entries of one producer, in any order, also the same one twice.
 *
 * @param overdueGaps Gaps that have stood for so long that they are to be passed over, in order.
 */
export function decide<T extends Numbered>(
  state: ProducerState,
  entries: readonly T[],
  overdueGaps: readonly SequenceRange[] = [],
): Decision<T> {
  let { committedOffset } = state
  let gaps: readonly Gap[] = state.gaps
  const counted: T[] = []
  const filled: { readonly gap: Gap; readonly sequence: number }[] = []
  const waiting: T[] = []

  const pass = (to: number, reason: string) => {
    gaps = [...gaps, { id: null, from: committedOffset + 1, to, reason, recordedAt: null }]
    committedOffset = to
  }
  for (const entry of [...entries].sort(byFirstSequence)) {
    if (entry.from > committedOffset + 1) {
      const overdue = overdueGaps.find(({ from, to }) => from === committedOffset + 1 && to < entry.from)
      if (overdue !== undefined) pass(overdue.to, PRODUCER_LOST)
    }
    if (entry.from > committedOffset + 1) {
      waiting.push(entry)
    } else if (entry.gapReason !== null) {
      if (entry.to > committedOffset) pass(entry.to, entry.gapReason)
    } else if (entry.to === committedOffset + 1) {
      counted.push(entry)
      committedOffset = entry.to
    } else {
      const gap = gaps.find(({ from, to }) => from <= entry.to && entry.to <= to)
      if (gap === undefined) continue
      counted.push(entry)
      filled.push({ gap, sequence: entry.to })
      gaps = [...gaps.filter((other) => other !== gap), ...without(gap, entry.to)]
    }
  }
  return { committedOffset, counted, waiting, ...changes(state.gaps, gaps, filled) }
}

/**
 * A record sorts before a gap marker that begins at the same number: what is there is counted, the rest
 * becomes a gap.
 */
function byFirstSequence(left: Numbered, right: Numbered): number {
  return left.from - right.from || Number(left.gapReason !== null) - Number(right.gapReason !== null)
}

function without(gap: Gap, sequence: number): Gap[] {
  const parts = [
    { ...gap, id: null, to: sequence - 1 },
    { ...gap, id: null, from: sequence + 1 },
  ]
  return parts.filter(({ from, to }) => from <= to)
}

function changes(
  before: readonly Gap[],
  after: readonly Gap[],
  filled: readonly { readonly gap: Gap; readonly sequence: number }[],
): Pick<Decision<Numbered>, 'replacedGaps' | 'newGaps'> {
  const kept = new Set(after)
  const runs: (Gap & { filled: boolean })[] = []
  for (const { gap, sequence } of [...filled].sort((left, right) => left.sequence - right.sequence)) {
    const last = runs.at(-1)
    if (last !== undefined && last.to === sequence - 1 && last.reason === gap.reason) {
      runs[runs.length - 1] = { ...last, to: sequence }
    } else {
      runs.push({ ...gap, id: null, from: sequence, to: sequence, filled: true })
    }
  }
  return {
    replacedGaps: before.flatMap((gap) => (gap.id !== null && !kept.has(gap) ? [gap.id] : [])),
    newGaps: [...after.filter(({ id }) => id === null).map((gap) => ({ ...gap, filled: false })), ...runs],
  }
}
